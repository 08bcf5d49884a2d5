/** A client that reads an object and writes it back as it is changes nothing: no version, no generation, no event.
 *  For every kind, in every encoding, with the zero values that upstream's types print and without them. */

import { describe, expect, test } from 'vitest';
import { formatYaml } from '#api/codec/yaml.ts';
import { printedForm } from '#api/schema/printed.ts';
import { samples, settled } from './kinds.ts';
import { type Json, MERGE, usePlane } from './support.ts';

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Without structures that hold nothing where upstream's types print them anyway. */
function sparse(value: unknown, printed: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, index) => sparse(item, memberOf(printed, index)));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, sparse(member, memberOf(printed, name))] as const)
    .filter(([name, member]) => !(isEmpty(member) && ALWAYS.has(name)));
  return Object.fromEntries(members);
}

const memberOf = (value: unknown, name: string | number): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** Structures that are no pointers in any type that has them. */
const ALWAYS: ReadonlySet<string> = new Set([
  'resources',
  'status',
  'strategy',
  'updateStrategy',
  'loadBalancer',
]);

describe.each(['kubernetes', 'plat'] as const)('written back (%s)', (words) => {
  // With it the server itself writes the status of a new FlowSchema.
  const plane = usePlane(words, ['--enable-priority-and-fairness=false']);

  test.each(samples(plane.words))('$id', async ({ path, object, kind, apiVersion, typeRef }) => {
    const one = `${path}/${object.metadata.name}`;
    expect((await plane.post(path, object)).status).toBe(201);
    const live = await settled(plane, one, kind);
    const meta = { kind, apiVersion };
    const printed = { ...(printedForm(typeRef, live, plane.words) as Json), ...meta };
    const bytes = plane.protobuf.encode({ ...live, ...meta });
    const bodies: readonly (readonly [string, string, unknown, string])[] = [
      ['printed', 'PUT', printed, 'application/json'],
      ['printed as YAML', 'PUT', Buffer.from(formatYaml(printed)), 'application/yaml'],
      ['sparse', 'PUT', sparse(live, printed), 'application/json'],
      ['protobuf', 'PUT', bytes, plane.words.protobufContentType],
      ['a patch', 'PATCH', printed, MERGE],
    ];
    for (const [name, method, body, type] of bodies) {
      const { status, body: response } = await plane.call(method, one, body, { type });
      expect({ name, status, message: type.includes('json') ? response.message : undefined }).toEqual({
        name,
        status: 200,
      });
      const { metadata } = (await plane.get(one)).body;
      expect({ name, version: metadata.resourceVersion }).toEqual({
        name,
        version: live.metadata.resourceVersion,
      });
    }
    await plane.delete(one);
  });
});
