/** Generator of requests for all kinds of resources. A request is a value, so it can be printed, and repeated
 *  by its seed. */
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { parseTypeName, type TypeName } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { builtinFacts } from '#plane/resources/facts.ts';
import type { Random } from '../../testing/random.ts';
import { samples } from '../plane/kinds.ts';
import { type Body, bodyOf, damaged } from './bodies.ts';
import { CUSTOM_GROUP, customObject } from './custom.ts';
import { chance, hostile, hostileText, structOf, textOf } from './hostile.ts';
import { patchOf } from './patches.ts';
import { acceptOf, type Header, headersOf, METHODS, pathOf, queryOf } from './queries.ts';
import { shake } from './shake.ts';

/** A request as it is sent. */
export interface Ask {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body?: Buffer;
  /** Sent byte by byte as it is, on a connection of its own. */
  readonly raw?: Buffer;
}

export type Members = Readonly<Record<string, unknown>>;

interface Kind {
  /** Of the collection. */
  readonly path: string;
  readonly namespaced: boolean;
  readonly object: Members;
  /** `undefined` for a custom resource. */
  readonly type: TypeName | undefined;
  readonly subresources: readonly string[];
  /** Its objects would affect all other requests: only dry runs. */
  readonly dryOnly: boolean;
}

export interface World {
  readonly words: Vocabulary;
  readonly protobuf: ApiProtobuf;
  readonly kinds: readonly Kind[];
  /** Kinds that are operations: only created, never stored. */
  readonly reviews: readonly Kind[];
  /** Objects as the server last showed them. */
  readonly shown: Map<string, Members>;
}

/** Where all objects are made that have a namespace. */
export const NAMESPACE = 'fuzz';
const OBJECTS = 5;
/** Objects that are remembered. */
const SHOWN = 400;

export function createWorld(words: Vocabulary, protobuf: ApiProtobuf): World {
  const facts = builtinFacts(words);
  const made = new Map(facts.map(({ info, typeRef }) => [typeRef, info]));
  const kinds = samples(words).map(({ path, object, typeRef, apiVersion, kind: kindName }): Kind => {
    const info = made.get(typeRef);
    return {
      path: path.replace('/namespaces/default/', `/namespaces/${NAMESPACE}/`),
      namespaced: info?.namespaced ?? false,
      object: kindName === 'Event' ? aboutAPod(object) : object,
      type: parseTypeName(typeRef),
      subresources: [...(info?.subresources.keys() ?? [])],
      dryOnly: /^(admissionregistration|apiregistration|apiextensions)/.test(apiVersion),
    };
  });
  const reviews = facts
    .filter(({ info }) => info.verbs.length === 1)
    .map(({ info, typeRef }): Kind => {
      const { group, version, plural, kind, namespaced } = info;
      const inside = namespaced ? `/namespaces/${NAMESPACE}` : '';
      return {
        path: `/apis/${group}/${version}${inside}/${plural}`,
        namespaced,
        object: { apiVersion: `${group}/${version}`, kind, spec: {} },
        type: parseTypeName(typeRef),
        subresources: [],
        dryOnly: false,
      };
    });
  return { words, protobuf, kinds: [...kinds, ...customKinds()], reviews, shown: new Map() };
}

/** Custom resources are requested as often as several kinds together. */
const customKinds = (): readonly Kind[] =>
  ['v1', 'v1', 'v2', 'v2'].map((version) => ({
    path: `/apis/${CUSTOM_GROUP}/${version}/namespaces/${NAMESPACE}/samples`,
    namespaced: true,
    object: customObject(version),
    type: undefined,
    subresources: ['status', 'scale'],
    dryOnly: false,
  }));

/** An event is in the namespace of what it is about. */
function aboutAPod(event: Members): Members {
  const pod = { kind: 'Pod', namespace: NAMESPACE, name: 'f0' };
  return { ...event, ...('regarding' in event ? { regarding: pod } : { involvedObject: pod }) };
}

type Make = (world: World, random: Random) => Ask;

const DRY: readonly Header[] = [['dryRun', 'All']];
const fixedQuery = ({ dryOnly }: Kind): readonly Header[] => (dryOnly ? DRY : []);

/** Names of kinds that are never stored have a form of their own. */
function nameOf(random: Random, { dryOnly, object }: Kind): string {
  if (dryOnly) return (object['metadata'] as { name: string }).name;
  return chance(random, 97)
    ? `f${random.below(OBJECTS)}`
    : encodeURIComponent(hostileText(random).toWellFormed());
}

/** The object as it may be now, under a name of ours. */
function objectOf(world: World, random: Random, kind: Kind, name: string): Members {
  const live = world.shown.get(`${kind.path}/${name}`);
  if (live !== undefined && chance(random, 60)) return live;
  const { metadata, ...rest } = kind.object as { metadata?: Members };
  return { ...rest, metadata: { ...metadata, name, labels: { app: 'sample' } } };
}

function withBody(ask: Ask, { type, bytes }: Body): Ask {
  return { ...ask, headers: [['Content-Type', type], ...ask.headers], body: bytes };
}

const someHeaders = (random: Random): readonly Header[] =>
  chance(random, 15) ? [['Accept', acceptOf(random)]] : [];

const shaken = (random: Random, object: Members, type: TypeName | undefined): unknown =>
  type === undefined || chance(random, 90)
    ? shake(random, object, type)
    : { ...object, ...structOf(random, type, 5) };

const create: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const object = shaken(random, objectOf(world, random, kind, nameOf(random, kind)), kind.type);
  const target = kind.path + queryOf(random, 15, fixedQuery(kind));
  const ask = { method: 'POST', target, headers: someHeaders(random) };
  return withBody(ask, bodyOf(random, world.protobuf, world.words.protobufContentType, object));
};

/** As it should be, so that there is something to work on. */
const seed: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const { metadata, ...rest } = kind.object as { metadata?: Members };
  const object = {
    ...rest,
    metadata: { ...metadata, name: nameOf(random, kind), labels: { app: 'sample' } },
  };
  const target = kind.path + queryOf(random, 0, fixedQuery(kind));
  return withBody(
    { method: 'POST', target, headers: [] },
    { type: 'application/json', bytes: Buffer.from(textOf(object)) },
  );
};

const replace: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const name = nameOf(random, kind);
  const object = shaken(random, objectOf(world, random, kind, name), kind.type);
  const target = `${kind.path}/${name}${queryOf(random, 15, fixedQuery(kind))}`;
  const ask = { method: 'PUT', target, headers: someHeaders(random) };
  return withBody(ask, bodyOf(random, world.protobuf, world.words.protobufContentType, object));
};

const patch: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const name = nameOf(random, kind);
  const body = patchOf(random, objectOf(world, random, kind, name), kind.type);
  const manager: readonly Header[] = body.type.includes('apply')
    ? [
        ['fieldManager', random.pick(['m', 'n'])],
        ['force', random.pick(['true', 'false'])],
      ]
    : [];
  const target = `${kind.path}/${name}${queryOf(random, 12, [...fixedQuery(kind), ...manager])}`;
  return withBody({ method: 'PATCH', target, headers: someHeaders(random) }, body);
};

const part: Make = (world, random) => {
  const kind = random.pick(world.kinds.filter(({ subresources }) => subresources.length > 0));
  const name = nameOf(random, kind);
  const sub = random.pick(kind.subresources);
  const rest = chance(random, 20) ? `/${hostileText(random)}` : '';
  const path = `${kind.path}/${name}/${sub}${encodeURI(rest.toWellFormed())}`;
  const ask = {
    method: random.pick(['GET', 'PUT', 'PATCH', 'POST', 'DELETE']),
    target: path + queryOf(random, 30, fixedQuery(kind)),
    headers: someHeaders(random),
  };
  const shown = world.shown.get(path) ?? objectOf(world, random, kind, name);
  if (ask.method === 'PATCH') return withBody(ask, patchOf(random, shown, kind.type));
  if (ask.method === 'GET') return ask;
  return withBody(
    ask,
    bodyOf(random, world.protobuf, world.words.protobufContentType, shaken(random, shown, kind.type)),
  );
};

const read: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const path = chance(random, 50) ? kind.path : `${kind.path}/${nameOf(random, kind)}`;
  const everywhere = chance(random, 20) ? path.replace(`/namespaces/${NAMESPACE}`, '') : path;
  const headers: readonly Header[] = chance(random, 60) ? [['Accept', acceptOf(random)]] : [];
  return { method: 'GET', target: everywhere + queryOf(random, 75), headers };
};

const watch: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const headers: readonly Header[] = chance(random, 40) ? [['Accept', acceptOf(random)]] : [];
  return { method: 'GET', target: kind.path + queryOf(random, 70, [['watch', '1']]), headers };
};

const OPTIONS = {
  apiVersion: 'v1',
  kind: 'DeleteOptions',
  preconditions: { uid: 'x' },
  gracePeriodSeconds: 1,
  propagationPolicy: 'Orphan',
};

const remove: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  // Nothing of the server's own is swept away with the rest.
  const all = kind.namespaced && chance(random, 10);
  const name = all ? '' : `/${nameOf(random, { ...kind, dryOnly: false })}`;
  const target = kind.path + name + queryOf(random, 40, fixedQuery(kind));
  const ask = { method: 'DELETE', target, headers: someHeaders(random) };
  if (chance(random, 60)) return ask;
  const options = chance(random, 70) ? shake(random, OPTIONS) : hostile(random);
  return withBody(ask, bodyOf(random, world.protobuf, world.words.protobufContentType, options));
};

const review: Make = (world, random) => {
  const kind = random.pick(world.reviews);
  const members = kind.type === undefined ? {} : structOf(random, kind.type, 5);
  const object = shake(random, { ...kind.object, ...members }, kind.type);
  const ask = { method: 'POST', target: kind.path + queryOf(random, 10), headers: someHeaders(random) };
  return withBody(ask, bodyOf(random, world.protobuf, world.words.protobufContentType, object));
};

const DOCUMENTS = [
  '/api',
  '/apis',
  '/api/v1',
  '/apis/apps/v1',
  '/version',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/metrics',
  '/healthz',
  '/livez',
  '/readyz',
  '/',
  '/livez/ping',
  '/.well-known/openid-configuration',
];

const document: Make = (_world, random) => ({
  method: random.pick(['GET', 'GET', 'HEAD', 'POST']),
  target: random.pick(DOCUMENTS) + queryOf(random, 50),
  headers: headersOf(random),
});

/** Paths and headers that no library would send. */
const odd: Make = (world, random) => {
  const kind = random.pick(world.kinds);
  const isPath = chance(random, 50);
  // Below the root a path may name the server's own objects, which are only looked at.
  const method = isPath ? random.pick(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'X']) : random.pick(METHODS);
  const name = method === 'DELETE' ? '/f0' : '';
  const path = isPath ? pathOf(random) : kind.path + name;
  const target = path + queryOf(random, 30, fixedQuery(kind));
  const body = chance(random, 30) ? Buffer.from('{"metadata":{"name":"f1"}}') : undefined;
  return rawOf(random, {
    method,
    target,
    headers: headersOf(random),
    ...(body === undefined ? {} : { body }),
  });
};

/** The request in the bytes of HTTP/1.1, which may be damaged. */
export function rawOf(random: Random, ask: Ask): Ask {
  const { method, target, headers, body } = ask;
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close'];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const hasLength = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  if (body !== undefined && !hasLength) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, chance(random, 50) ? 'utf8' : 'latin1');
  return { ...ask, raw: damaged(random, Buffer.concat([head, body ?? Buffer.alloc(0)]), 15) };
}

/** How often each of them is made. */
const MAKES: readonly (readonly [number, Make])[] = [
  [10, seed],
  [18, create],
  [12, replace],
  [26, patch],
  [9, part],
  [12, read],
  [3, watch],
  [6, remove],
  [3, review],
  [2, document],
  [4, odd],
];
const TABLE = MAKES.flatMap(([weight, make]) => Array.from({ length: weight }, () => make));

export function nextAsk(world: World, random: Random): Ask {
  const ask = random.pick(TABLE)(world, random);
  const worded = (text: string): string =>
    text
      .replaceAll('@domain', world.words.apiGroupDomain)
      .replaceAll('@protobuf', world.words.protobufContentType);
  const headers = ask.headers.map(([name, value]): Header => [name, worded(value)]);
  return {
    ...ask,
    headers,
    ...(ask.raw === undefined ? {} : { raw: Buffer.from(worded(ask.raw.toString('latin1')), 'latin1') }),
  };
}

/** Records objects from responses. */
export function remember(world: World, target: string, object: Members): void {
  const [path = ''] = target.split('?');
  const { metadata } = object as { metadata?: { name?: unknown } };
  const key =
    typeof metadata?.name === 'string' && !path.endsWith(`/${metadata.name}`)
      ? `${path}/${metadata.name}`
      : path;
  if (world.shown.size >= SHOWN) world.shown.delete([...world.shown.keys()][0] ?? '');
  world.shown.set(key, object);
}
