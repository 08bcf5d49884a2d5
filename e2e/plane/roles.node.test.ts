/** Aggregated cluster roles. rbac.authorization/v1, aggregationRule. */
import { expect, test } from 'vitest';
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { type Body, usePlane, type WatchStream } from './support.ts';

const plane = usePlane();
const roles = plane.path('rbac.authorization/v1', 'clusterroles');
const rulesOf = (role: Body): readonly PolicyRule[] =>
  (role as unknown as { rules: readonly PolicyRule[] | null }).rules ?? [];

/** The verbs of a role's rules as soon as they are these. */
async function untilVerbs(watch: WatchStream, expected: string): Promise<string> {
  for (;;) {
    const event = await watch.next();
    if (event === undefined) throw new Error('the watch ended');
    const verbs = rulesOf(event.object)
      .flatMap((rule) => rule.verbs)
      .join();
    if (verbs === expected) return verbs;
  }
}

const watchOf = (name: string): Promise<WatchStream> =>
  plane.watch(`${roles}?watch=1&fieldSelector=metadata.name=${name}`);

const part = (name: string, verb: string): object => ({
  metadata: { name, labels: { 'example.com/whole': 'true' } },
  rules: [{ verbs: [verb], apiGroups: [''], resources: ['pods'] }],
});

test('admin has the rules of edit, and edit those of view', async () => {
  const [admin, edit, view] = await Promise.all(
    ['admin', 'edit', 'view'].map(async (name) => rulesOf((await plane.get(`${roles}/${name}`)).body)),
  );
  const can = (rules: readonly PolicyRule[] | undefined, verb: string, resource: string): boolean =>
    rules?.some(({ verbs, resources = [] }) => verbs.includes(verb) && resources.includes(resource)) === true;
  expect([can(admin, 'get', 'pods'), can(edit, 'get', 'pods'), can(view, 'get', 'pods')]).toEqual([
    true,
    true,
    true,
  ]);
  expect([can(admin, 'create', 'pods'), can(edit, 'create', 'pods'), can(view, 'create', 'pods')]).toEqual([
    true,
    true,
    false,
  ]);
  expect([can(admin, 'create', 'rolebindings'), can(edit, 'create', 'rolebindings')]).toEqual([true, false]);
});

test('roles come, change and go', async () => {
  await plane.post(roles, {
    metadata: { name: 'whole' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'example.com/whole': 'true' } }] },
    rules: [{ verbs: ['mine'], apiGroups: [''], resources: ['pods'] }],
  });
  await using watch = await watchOf('whole');
  expect(await untilVerbs(watch, '')).toBe('');
  await plane.post(roles, part('part-b', 'list'));
  expect(await untilVerbs(watch, 'list')).toBe('list');
  await plane.post(roles, part('part-a', 'get'));
  expect(await untilVerbs(watch, 'get,list')).toBe('get,list');
  await plane.patch(`${roles}/part-b`, { metadata: { labels: { 'example.com/whole': null } } });
  expect(await untilVerbs(watch, 'get')).toBe('get');
  await plane.delete(`${roles}/part-a`);
  expect(await untilVerbs(watch, '')).toBe('');
});
