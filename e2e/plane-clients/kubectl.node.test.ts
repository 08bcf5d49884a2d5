/** Upstream's command-line client reads objects: tables, other output formats, watches, descriptions, paths. */
import { beforeAll, describe, expect, test } from 'vitest';
import { usePlane } from '../plane/support.ts';
import { kubectlMinor, useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const kubectl = useKubectl(() => plane.server.platconfigFile);
const { ok, fails, json, table } = kubectl;
const minor = await kubectlMinor();

const container = { name: 'main', image: 'busybox:1' };
const POD = '/api/v1/namespaces/default/pods/web';

beforeAll(async () => {
  await plane.post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: { nodeName: 'n1', containers: [container] },
  });
  await plane.patch(`${POD}/status`, {
    status: {
      phase: 'Running',
      podIP: '10.1.0.7',
      podIPs: [{ ip: '10.1.0.7' }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          ...container,
          imageID: 'sha256:1',
          ready: true,
          restartCount: 2,
          state: { running: { startedAt: new Date().toISOString() } },
          lastState: {
            terminated: { exitCode: 1, finishedAt: new Date(Date.now() - 7_205_000).toISOString() },
          },
        },
      ],
    },
  });
  await plane.post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'waiting' },
    spec: { containers: [container, { ...container, name: 'second' }] },
  });
  const { body } = await plane.get(POD);
  await plane.post('/api/v1/namespaces/default/events', {
    metadata: { name: 'web.1' },
    involvedObject: {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'web',
      namespace: 'default',
      uid: body.metadata.uid,
    },
    type: 'Normal',
    reason: 'Started',
    message: 'Container was started',
    source: { component: 'agent', host: 'n1' },
    firstTimestamp: new Date(Date.now() - 600_000).toISOString(),
    lastTimestamp: new Date(Date.now() - 120_000).toISOString(),
    count: 3,
  });
});

describe('get', () => {
  test('in tables: ready, status, restarts and age as they have always been', async () => {
    const [head, waiting, web] = await table('get pods');
    expect(head).toEqual(['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
    expect(waiting?.slice(0, 4)).toEqual(['waiting', '0/2', 'Pending', '0']);
    expect(web?.slice(0, 3)).toEqual(['web', '1/1', 'Running']);
    expect(web?.[3]).toMatch(/^2 \(12\dm ago\)$/);
    expect(web?.[4]).toMatch(/^\d+m?\d*s$/);
  });

  test('in wide tables, with labels, across namespaces, of several kinds', async () => {
    const [wide, labels, all, mixed] = await Promise.all([
      table('get pods -o wide --no-headers'),
      table('get pods -l app=web -L app --show-labels'),
      table('get pods -A'),
      ok('get pods,namespaces'),
    ]);
    expect(wide[1]?.slice(5)).toEqual(['10.1.0.7', 'n1', '<none>', '<none>']);
    expect(labels[0]?.slice(5)).toEqual(['APP', 'LABELS']);
    expect(labels[1]?.slice(5)).toEqual(['web', 'app=web']);
    expect(labels).toHaveLength(2);
    expect(all[0]?.[0]).toBe('NAMESPACE');
    expect(all[1]?.[0]).toBe('default');
    expect(mixed).toMatch(/pod\/web .*1\/1[\s\S]*namespace\/default +Active/);
  });

  test('as yaml, json, names, by jsonpath, go-template and columns of the user', async () => {
    const [yaml, object, names, path, template, columns] = await Promise.all([
      ok('get pod web -o yaml'),
      json('get pod web'),
      ok('get pods -o name'),
      ok(['get', 'pods', '-o', 'jsonpath={range .items[*]}{.metadata.name}={.status.podIP};{end}']),
      ok(['get', 'pods', '-o', 'go-template={{len .items}}']),
      table('get pods -o custom-columns=N:.metadata.name,IMAGES:.spec.containers[*].image'),
    ]);
    expect(yaml).toMatch(/^apiVersion: v1\nkind: Pod\nmetadata:\n {2}creationTimestamp: "20/);
    expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(names).toBe('pod/waiting\npod/web');
    expect(path).toBe('waiting=;web=10.1.0.7;');
    expect(template).toBe('2');
    expect(columns).toEqual([
      ['N', 'IMAGES'],
      ['waiting', 'busybox:1,busybox:1'],
      ['web', 'busybox:1'],
    ]);
  });

  test('sorts, selects by fields, reads in chunks', async () => {
    const [sorted, running, chunks] = await Promise.all([
      ok('get pods --sort-by={.status.phase} -o name'),
      ok('get pods --field-selector=status.phase=Running,spec.nodeName=n1 -o name'),
      ok('get pods --chunk-size=1 -o name'),
    ]);
    expect(sorted).toBe('pod/waiting\npod/web');
    expect(running).toBe('pod/web');
    expect(chunks).toBe('pod/waiting\npod/web');
  });

  test('reports missing objects and unsupported selectors', async () => {
    const [object, kind, label, nothing] = await Promise.all([
      fails('get pod nobody'),
      fails('get nothings'),
      fails('get pods --field-selector=spec.colour=red'),
      kubectl.run('get configmaps -n elsewhere'),
    ]);
    expect(object).toBe('Error from server (NotFound): pods "nobody" not found');
    expect(kind).toBe('error: the server doesn\'t have a resource type "nothings"');
    expect(label).toContain('field label not supported: spec.colour');
    expect(nothing).toEqual({ code: 0, out: '', err: 'No resources found in elsewhere namespace.\n' });
  });

  test("--raw prints the server's response", async () => {
    const [pod, ready] = await Promise.all([ok(`get --raw ${POD}`), ok('get --raw /readyz')]);
    expect(JSON.parse(pod)).toMatchObject({ kind: 'Pod', metadata: { name: 'web' } });
    expect(ready).toBe('ok');
    expect(await fails('get --raw /nowhere')).toContain('(NotFound)');
  });

  test('-w follows changes line by line', async () => {
    await using watch = kubectl.start('get secrets -n default -w --no-headers');
    const file = '/api/v1/namespaces/default/secrets';
    await plane.post(file, { metadata: { name: 'first' } });
    expect(await watch.line()).toMatch(/^first Opaque 0 \d+s$/);
    await plane.patch(`${file}/first`, { data: { a: 'MQ==' } });
    expect(await watch.line()).toMatch(/^first Opaque 1 \d+s$/);
    await plane.delete(`${file}/first`);
    expect(await watch.line()).toMatch(/^first Opaque 1 \d+s$/);
  });
});

describe('what happened', () => {
  test('describe a pod and its events', async () => {
    const text = await ok('describe pod web');
    expect(text).toMatch(/^Name: +web$/m);
    expect(text).toMatch(/^Node: +n1\/$/m);
    expect(text).toMatch(/^Status: +Running$/m);
    expect(text).toMatch(/^ +Restart Count: +2$/m);
    expect(text).toMatch(/^QoS Class: +BestEffort$/m);
    expect(text).toMatch(
      /^ {2}Normal {2}Started {2}[23]m\d*s? \(x3 over 1\dm\) {2}agent {2}Container was started$/m,
    );
  });

  test('events are listed with their age, and with where they come from', async () => {
    const [plain, wide] = await Promise.all([
      table('get events --no-headers'),
      table('get events -o wide --no-headers'),
    ]);
    expect(plain[0]?.slice(1)).toEqual(['Normal', 'Started', 'pod/web', 'Container was started']);
    expect(plain[0]?.[0]).toMatch(/^[23]m\d*s?$/);
    expect(wide[0]?.slice(3, 6)).toEqual(['pod/web', 'agent, n1', 'Container was started']);
    expect(wide[0]?.slice(6).join(' ')).toMatch(/^1\dm 3 web\.1$/);
  });

  test.runIf(minor >= 26)('events of one object (a command of kubectl 1.26)', async () => {
    expect(await ok('events --for pod/web')).toMatch(/Normal +Started +Pod\/web +Container/);
  });

  test('every kind can be described', async () => {
    const kinds = (await ok('api-resources --verbs=list,create -o name')).split('\n');
    expect(kinds.length).toBeGreaterThan(40);
    const texts = await Promise.all(
      ['namespace default', 'clusterrole cluster-admin', 'clusterrolebinding cluster-admin'].map((what) =>
        ok(`describe ${what}`),
      ),
    );
    expect(texts[0]).toMatch(/^Status: +Active$/m);
    expect(texts[1]).toMatch(/\*\.\* +\[\] +\[\] +\[\*\]/);
    expect(texts[2]).toMatch(/Group +system:masters/);
  });
});

describe('about the server', () => {
  test('version, and where it is', async () => {
    const [version, info, view] = await Promise.all([
      json('version'),
      ok('cluster-info'),
      json('config view'),
    ]);
    expect(version).toMatchObject({ serverVersion: { major: '1', minor: '24' } });
    expect(JSON.stringify(version)).toMatch(/"gitVersion":"v1\.24\.\d+/);
    expect(info).toContain(`is running at`);
    expect(info).toContain(plane.server.url);
    expect(view).toMatchObject({ clusters: [{ cluster: { server: plane.server.url } }] });
  });

  test('its kinds, by short names and groups', async () => {
    const [all, names, apps, versions] = await Promise.all([
      table('api-resources'),
      table('api-resources --no-headers --namespaced=false'),
      ok('api-resources --api-group=apps -o name'),
      ok('api-versions'),
    ]);
    expect(all[0]).toEqual(['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND']);
    expect(all).toContainEqual(expect.arrayContaining(['deployments', 'deploy', 'Deployment']));
    expect(names.map(([name]) => name)).toContain('nodes');
    expect(apps.split('\n')).toEqual(
      ['controllerrevisions', 'daemonsets', 'deployments', 'replicasets', 'statefulsets'].map(
        (name) => `${name}.apps`,
      ),
    );
    expect(versions.split('\n')).toEqual(expect.arrayContaining(['v1', 'apps/v1', 'batch/v1', 'policy/v1']));
  });

  test('what one may do', async () => {
    const [all, list, node] = await Promise.all([
      ok('auth can-i * *'),
      ok('auth can-i --list'),
      ok('auth can-i delete nodes'),
    ]);
    expect([all, node]).toEqual(['yes', 'yes']);
    expect(list).toMatch(/\*\.\* +\[\] +\[\] +\[\*\]/);
  });

  test('kinds on their way out are warned of', async () => {
    const { err } = await kubectl.run('get podsecuritypolicies');
    expect(err).toContain(
      'Warning: policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+',
    );
  });
});
