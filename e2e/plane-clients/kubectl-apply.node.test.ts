/** Upstream's command-line client with files: create, client-side and server-side apply, diff, edit, replace. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { configMap, type Json, pod, usePlane, workload } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const kubectl = useKubectl(() => plane.server.platconfigFile);
const { ok, fails, run, json } = kubectl;

const input = (object: Json | string): { readonly input: Json | string } => ({ input: object });
const apply = (object: Json, flags = ''): Promise<string> => ok(`apply${flags} -f -`, input(object));
const dataOf = async (name: string): Promise<Json> => (await json(`get configmap ${name}`)).data;

describe('files are checked before they are sent', () => {
  const misspelt = pod('misspelt', { containers: [{ name: 'a', image: 'a', imagePullPolice: 'Always' }] });
  const wrong = pod('wrong', { containers: [{ name: 'a', image: 'a', ports: 7 }] });

  test.each(['create', 'apply'])('%s', async (verb) => {
    const [first, second] = await Promise.all([
      fails(`${verb} -f -`, input(misspelt)),
      fails(`${verb} -f -`, input(wrong)),
    ]);
    expect(first).toMatch(/unknown field "?(spec\.containers\[0\]\.)?imagePullPolice/);
    expect(second).toMatch(/spec\.containers\[0\]\.?.*ports/);
  });

  test('unless one does not want to', async () => {
    expect(await ok('create --validate=false -f -', input(misspelt))).toBe('pod/misspelt created');
    expect(await fails('create --validate=false -f -', input(wrong))).toContain('(BadRequest)');
  });

  test('the server reports every validation error that the schema cannot express', async () => {
    const errors = await fails(
      'create -f -',
      input(pod('faulty', { containers: [{ name: 'A', image: 'a' }, { name: 'b' }] })),
    );
    expect(errors).toMatch(
      /^The Pod "faulty" is invalid: \n\* spec\.containers\[0\]\.name: Invalid value: "A".*\n\* spec\.containers\[1\]\.image: Required value/,
    );
  });
});

describe('client-side apply', () => {
  test('creates, changes, preserves, and removes what is no longer in the file', async () => {
    expect(await apply(configMap('a', '1'))).toBe('configmap/a created');
    expect(await apply(configMap('a', '1'))).toBe('configmap/a unchanged');
    await plane.patch('/api/v1/namespaces/default/configmaps/a', { data: { other: 'kept' } });
    expect(await apply({ ...configMap('a'), data: { new: '2' } })).toBe('configmap/a configured');
    expect(await dataOf('a')).toEqual({ new: '2', other: 'kept' });
  });

  test('adopts objects created otherwise, with a warning', async () => {
    await ok('create configmap b --from-literal=value=0');
    const { out, err } = await run('apply -f -', input(configMap('b', '1')));
    expect(out).toBe('configmap/b configured\n');
    expect(err).toContain('last-applied-configuration annotation');
  });

  test('merges lists by their keys', async () => {
    const two = [
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:1' },
    ];
    const workloadOf = (containers: readonly Json[]): Json =>
      workload('Deployment', 'lists', {
        template: { metadata: { labels: { app: 'lists' } }, spec: { containers } },
      });
    await apply(workloadOf(two));
    await ok('set image deployment/lists b=b:2');
    expect(await apply(workloadOf([{ name: 'b', image: 'b:2' }]))).toBe('deployment.apps/lists configured');
    const images = await ok('get deployment lists -o jsonpath={.spec.template.spec.containers[*].image}');
    expect(images).toBe('b:2');
  });

  test('of several documents at once, pruning those that are gone', async () => {
    const labelled = (name: string): string =>
      JSON.stringify(configMap(name, '1', { labels: { set: 'one' } }));
    const prune = 'apply -l set=one --prune --prune-whitelist=core/v1/ConfigMap -f -';
    const flag = (await run('apply --help')).out.includes('--prune-allowlist')
      ? prune.replace('whitelist', 'allowlist')
      : prune;
    const first = await ok(flag, input(`${labelled('x')}\n${labelled('y')}`));
    expect(first).toBe('configmap/x created\nconfigmap/y created');
    expect(await ok(flag, input(labelled('y')))).toBe('configmap/y unchanged\nconfigmap/x pruned');
  });
});

describe('server-side apply', () => {
  const ours = ' --server-side --field-manager=ours';
  const theirs = ' --server-side --field-manager=theirs';

  test('conflicts name the manager and the field; force takes them over', async () => {
    expect(await apply(configMap('c', '1'), ours)).toBe('configmap/c serverside-applied');
    const refused = await fails(`apply${theirs} -f -`, input(configMap('c', '2')));
    expect(refused).toMatch(/Apply failed with 1 conflict: conflict with "ours": \.data\.value/);
    expect(await dataOf('c')).toEqual({ value: '1' });
    await apply(configMap('c', '2'), `${theirs} --force-conflicts`);
    expect(await dataOf('c')).toEqual({ value: '2' });
    expect(await fails(`apply${ours} -f -`, input(configMap('c', '3')))).toContain('conflict with "theirs"');
  });

  test('shares, and gives up', async () => {
    await apply(configMap('d', '1'), ours);
    await apply(configMap('d', '1'), theirs);
    await apply({ ...configMap('d'), data: {} }, ours);
    expect(await dataOf('d')).toEqual({ value: '1' });
    await apply({ ...configMap('d'), data: {} }, theirs);
    expect(await dataOf('d')).toBeUndefined();
  });

  test('goes on from client-side apply without conflicts', async () => {
    await apply(configMap('e', '1'));
    await apply(configMap('e', '2'), ' --server-side');
    expect(await dataOf('e')).toEqual({ value: '2' });
  });

  test('of what defaults complete, goes on from client-side apply too', async () => {
    const env = [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const resources = { requests: { cpu: 0.1, memory: '1024Mi' } };
    const object = workload('StatefulSet', 'db', {
      serviceName: 'db',
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          containers: [{ name: 'main', image: 'db:1', env, resources }],
          volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    });
    await apply(object);
    expect(await apply(object, ' --server-side')).toBe('statefulset.apps/db serverside-applied');
  });

  test('of a namespace', async () => {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team', labels: { a: 'b' } } };
    expect(await apply(object, ours)).toBe('namespace/team serverside-applied');
    expect(await apply({ ...object, metadata: { name: 'team', labels: { a: 'c' } } }, ours)).toMatch(
      /applied$/,
    );
    expect((await json('get namespace team')).metadata.labels).toMatchObject({ a: 'c' });
  });

  test('writes nothing where nothing changes, whatever is said of nothing', async () => {
    const vague = configMap('f', '1', { labels: {}, annotations: {} });
    await apply(vague, ours);
    const before = await json('get configmap f');
    await apply(vague, ours);
    expect((await json('get configmap f')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });
});

describe('diff', () => {
  test('shows what would change, and changes nothing', async () => {
    await apply(configMap('g', '1'));
    const [same, other, none] = await Promise.all([
      run('diff -f -', input(configMap('g', '1'))),
      run('diff -f -', input(configMap('g', '2'))),
      run('diff --server-side -f -', input(configMap('none', '1'))),
    ]);
    expect(same).toMatchObject({ code: 0, out: '' });
    expect(other.code).toBe(1);
    expect(other.out).toMatch(/^- {2}value: "1"\n\+ {2}value: "2"$/m);
    expect(none.code).toBe(1);
    expect(none.out).toMatch(/^\+kind: ConfigMap$/m);
    expect(await dataOf('g')).toEqual({ value: '1' });
  });
});

describe('edit and replace', () => {
  const editor = async (script: string): Promise<{ readonly env: Readonly<Record<string, string>> }> => {
    const path = `${kubectl.dir()}/${Buffer.from(script).toString('hex').slice(0, 20)}.sh`;
    await writeFile(path, `#!/bin/sh\n${script} "$1"\n`, { mode: 0o755 });
    return { env: { KUBE_EDITOR: path } };
  };

  test('an editor’s change is patched in', async () => {
    await plane.post('/api/v1/namespaces/default/configmaps', configMap('h', 'old'));
    expect(await ok('edit configmap h', await editor('sed -i s/old/new/'))).toBe('configmap/h edited');
    expect(await dataOf('h')).toEqual({ value: 'new' });
    const same = await run('edit configmap h', await editor('touch'));
    expect(same.err + same.out).toContain('no changes made');
    expect(await fails('edit configmap h', await editor('sed -i s/^data:/date:/'))).toMatch(
      /no valid changes were saved/,
    );
  });

  test('an object is replaced, or deleted and created again', async () => {
    await plane.post('/api/v1/namespaces/default/configmaps', configMap('i', '1'));
    const { uid } = (await json('get configmap i')).metadata;
    expect(await ok('replace -f -', input(configMap('i', '2')))).toBe('configmap/i replaced');
    expect((await json('get configmap i')).metadata.uid).toBe(uid);
    await ok('replace --force -f -', input(configMap('i', '3')));
    const after = await json('get configmap i');
    expect(after).toMatchObject({ data: { value: '3' } });
    expect(after.metadata.uid).not.toBe(uid);
    expect(await fails('replace -f -', input(configMap('none')))).toContain('(NotFound)');
    const stale = configMap('i', '4', { resourceVersion: '1' });
    expect(await fails('replace -f -', input(stale))).toContain('the object has been modified');
  });
});
