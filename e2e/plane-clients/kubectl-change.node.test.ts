/** Imperative commands of upstream's command-line client, which create and change objects without files. */
import { beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { usePlane, workload } from '../plane/support.ts';
import { kubectlMinor, useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const { ok, fails, run, json, table } = useKubectl(() => plane.server.platconfigFile);
const minor = await kubectlMinor();
const { apiGroupDomain: DOMAIN } = VOCABULARIES.kubernetes;

const words = (text: string): readonly string[] => text.split(' ');

/** Arguments, output, and the row of the table up to the age. */
const MADE: readonly (readonly [command: string, name: string, row: readonly string[]])[] = [
  ['namespace team', 'namespace/team', ['team', 'Active']],
  ['configmap conf --from-literal=a=1 --from-literal=b=2', 'configmap/conf', ['conf', '2']],
  ['secret generic key --from-literal=a=1', 'secret/key', ['key', 'Opaque', '1']],
  ['serviceaccount robot', 'serviceaccount/robot', ['robot', '0']],
  ['quota small --hard=pods=3', 'resourcequota/small', ['small']],
  ['priorityclass high --value=7', `priorityclass.scheduling.${DOMAIN}/high`, ['high', '7', 'false']],
  [
    'poddisruptionbudget one --selector=a=b --min-available=1',
    'poddisruptionbudget.policy/one',
    ['one', '1', 'N/A', '0'],
  ],
  ['deployment shop --image=shop:1 --replicas=2', 'deployment.apps/shop', ['shop', '0/2', '0', '0']],
  ['job once --image=busybox', 'job.batch/once', ['once', '0/1']],
  ['service clusterip inner --tcp=80:8080', 'service/inner', ['inner', 'ClusterIP']],
  ['service nodeport outer --tcp=80 --node-port=30123', 'service/outer', ['outer', 'NodePort']],
  [
    'service externalname far --external-name=far.test',
    'service/far',
    ['far', 'ExternalName', '<none>', 'far.test', '<none>'],
  ],
  [
    'ingress way --rule=shop.test/a=inner:80',
    `ingress.networking.${DOMAIN}/way`,
    ['way', '<none>', 'shop.test', '80'],
  ],
  ['role reader --verb=get,list --resource=pods', `role.rbac.authorization.${DOMAIN}/reader`, ['reader']],
  [
    'rolebinding readers --role=reader --user=jane',
    `rolebinding.rbac.authorization.${DOMAIN}/readers`,
    ['readers', 'Role/reader'],
  ],
  [
    'clusterrolebinding staff --clusterrole=view --group=staff',
    `clusterrolebinding.rbac.authorization.${DOMAIN}/staff`,
    ['staff', 'ClusterRole/view'],
  ],
];

describe('create', () => {
  test.each(MADE)('%s', async (command, name, row) => {
    expect(await ok(`create ${command}`)).toBe(`${name} created`);
    const [line = []] = await table(['get', name, '--no-headers']);
    expect(line.slice(0, row.length)).toEqual(row);
    expect(line.at(-1)).toMatch(/^\d+s$|^20.*Z$/);
  });

  test.runIf(minor > 20)(
    'a job for every five minutes (kubectl 1.20 knows its beta version only)',
    async () => {
      const made = await ok([...words('create cronjob often --image=busybox'), '--schedule=*/5 * * * *']);
      expect(made).toBe('cronjob.batch/often created');
      const [row] = await table('get cronjobs --no-headers');
      expect(row?.slice(0, 5)).toEqual(['often', '*/5 * * * *', 'False', '0', '<none>']);
    },
  );

  test('refuses what is there already, and names that none can have', async () => {
    await ok('create namespace twice');
    const [again, name, run1] = await Promise.all([
      fails('create namespace twice'),
      fails('create namespace Twice_'),
      fails('run Bad_Name --image=busybox'),
    ]);
    expect(again).toBe('Error from server (AlreadyExists): namespaces "twice" already exists');
    expect(name).toMatch(/^The Namespace "Twice_" is invalid: .*metadata\.name: Invalid value: "Twice_"/s);
    expect(run1).toMatch(
      /^The Pod "Bad_Name" is invalid: \n\* metadata\.name: [\s\S]*\n\* spec\.containers\[0\]\.name: /,
    );
  });

  test('of fields that only the server sets, or of no fields, writes nothing', async () => {
    expect(await ok('create configmap none --dry-run=server')).toBe(
      'configmap/none created (server dry run)',
    );
    expect(await ok('create configmap none --dry-run=client')).toBe('configmap/none created (dry run)');
    expect(await fails('get configmap none')).toContain('(NotFound)');
  });

  test('run and expose', async () => {
    const words1 = ['run', 'web', '--image=web:1', '--port=80', '--labels=app=web', '--env=A=1'];
    expect(await ok(words1)).toBe('pod/web created');
    expect(await ok('expose pod web --port=8080 --target-port=80')).toBe('service/web exposed');
    const [pod, service] = await Promise.all([json('get pod web'), json('get service web')]);
    expect(pod.spec).toMatchObject({
      restartPolicy: 'Always',
      containers: [
        {
          name: 'web',
          image: 'web:1',
          imagePullPolicy: 'IfNotPresent',
          ports: [{ containerPort: 80, protocol: 'TCP' }],
        },
      ],
    });
    expect(service.spec).toMatchObject({
      selector: { app: 'web' },
      ports: [{ port: 8080, targetPort: 80, protocol: 'TCP' }],
      clusterIP: expect.stringMatching(/^10\.0\.0\.\d+$/) as string,
    });
  });
});

describe('a deployment', () => {
  const NAME = 'deployment/app';
  beforeAll(async () => {
    await plane.post('/apis/apps/v1/namespaces/default/deployments', workload('Deployment', 'app'));
  });

  test('is scaled, if it is as big as was thought', async () => {
    expect(await ok(`scale ${NAME} --replicas=3`)).toBe('deployment.apps/app scaled');
    expect(await fails(`scale ${NAME} --replicas=4 --current-replicas=9`)).toMatch(/replicas to be 9, was 3/);
    expect((await json(`get ${NAME}`)).spec['replicas']).toBe(3);
  });

  test('gets labels and annotations, and loses them', async () => {
    expect(await ok(`label ${NAME} tier=front`)).toBe('deployment.apps/app labeled');
    expect(await fails(`label ${NAME} tier=back`)).toContain("'tier' already has a value (front)");
    await ok(`label ${NAME} tier=back --overwrite`);
    expect(await ok(['annotate', NAME, 'note=hello there'])).toMatch(/annotated$/);
    expect((await json(`get ${NAME}`)).metadata).toMatchObject({
      labels: { tier: 'back' },
      annotations: { note: 'hello there' },
    });
    await Promise.all([ok(`label ${NAME} tier-`), ok(`annotate ${NAME} note-`)]);
    const { metadata } = await json(`get ${NAME}`);
    expect([metadata.labels, metadata.annotations]).toEqual([undefined, undefined]);
    expect(await fails(`label ${NAME} tier=-not-`)).toContain('tier');
  });

  test('is patched in every way', async () => {
    const patch = (type: string, value: unknown): Promise<string> =>
      ok(['patch', NAME, `--type=${type}`, '-p', JSON.stringify(value)]);
    const containers = [{ name: 'side', image: 'side:1' }];
    await patch('strategic', { spec: { template: { spec: { containers } } } });
    await patch('merge', { spec: { minReadySeconds: 5 } });
    await patch('json', [{ op: 'replace', path: '/spec/revisionHistoryLimit', value: 2 }]);
    expect(await patch('merge', { spec: { minReadySeconds: 5 } })).toBe(
      'deployment.apps/app patched (no change)',
    );
    expect((await json(`get ${NAME}`)).spec).toMatchObject({
      minReadySeconds: 5,
      revisionHistoryLimit: 2,
      template: { spec: { containers: [{ name: 'side' }, { name: 'main' }] } },
    });
    const absent = JSON.stringify([{ op: 'remove', path: '/spec/paused' }]);
    // Old releases do not say why.
    expect(await fails(['patch', NAME, '--type=json', '-p', absent])).toMatch(
      /^The request is invalid(: the server rejected our request .*there is nothing at \/spec\/paused)?$/,
    );
    const selector = { spec: { selector: { matchLabels: { x: 'y' } } } };
    expect(await fails(['patch', NAME, '-p', JSON.stringify(selector)])).toMatch(
      /^The Deployment "app" is invalid: [\s\S]*spec\.selector: Invalid value: .*: field is immutable/,
    );
  });

  test('gets other images, variables and limits', async () => {
    expect(await ok(`set image ${NAME} main=busybox:2`)).toBe('deployment.apps/app image updated');
    expect(await ok(`set env ${NAME} -c main A=1`)).toBe('deployment.apps/app env updated');
    expect(await ok(`set resources ${NAME} -c main --limits=cpu=500m`)).toMatch(
      /resource requirements updated$/,
    );
    const { spec } = await json(`get ${NAME}`);
    expect(JSON.stringify(spec)).toMatch(/"image":"busybox:2"/);
    expect(JSON.stringify(spec)).toMatch(/"limits":\{"cpu":"500m"\}/);
  });

  test('rolls out: its history, its status, back and on', async () => {
    await ok(`rollout restart ${NAME}`);
    expect(await ok(`rollout pause ${NAME}`)).toBe('deployment.apps/app paused');
    expect(await ok(`rollout resume ${NAME}`)).toBe('deployment.apps/app resumed');
    const path = '/apis/apps/v1/namespaces/default';
    const { uid = '' } = (await json(`get ${NAME}`)).metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app', uid, controller: true };
    await Promise.all(
      ['1', '2'].map((revision) =>
        plane.post(`${path}/replicasets`, {
          ...workload('ReplicaSet', 'app'),
          metadata: {
            name: `app-${revision}`,
            labels: { app: 'app' },
            ownerReferences: [owner],
            annotations: { [`deployment.${plane.words.domain}/revision`]: revision },
          },
        }),
      ),
    );
    expect(await ok(`rollout history ${NAME}`)).toMatch(/REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>/);
    expect(await ok(`rollout undo ${NAME} --to-revision=1`)).toMatch(/^deployment\.apps\/app rolled back/);
    const { generation = 0 } = (await json(`get ${NAME}`)).metadata;
    const replicas = 3;
    await plane.patch(`${path}/deployments/app/status`, {
      status: {
        observedGeneration: generation,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
    });
    expect(await ok(`rollout status ${NAME} --timeout=5s`)).toMatch(/"app" successfully rolled out$/);
  });
});

describe('a node', () => {
  beforeAll(async () => {
    await plane.post('/api/v1/nodes', {
      metadata: { name: 'n1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });

  test('is cordoned, tainted and drained', async () => {
    expect(await ok('cordon n1')).toBe('node/n1 cordoned');
    expect((await table('get node n1 --no-headers'))[0]?.slice(0, 3)).toEqual([
      'n1',
      'Ready,SchedulingDisabled',
      '<none>',
    ]);
    expect(await ok('uncordon n1')).toBe('node/n1 uncordoned');
    expect(await ok('taint node n1 a=b:NoSchedule')).toBe('node/n1 tainted');
    expect((await json('get node n1')).spec).toEqual({
      taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
    });
    expect(await ok('taint node n1 a-')).toBe('node/n1 untainted');
    await plane.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'guest' },
      spec: { nodeName: 'n1', terminationGracePeriodSeconds: 0, containers: [{ name: 'a', image: 'a' }] },
    });
    const drained = await run('drain n1 --force');
    expect(drained.out).toMatch(
      /evicting pod default\/guest\npod\/guest evicted\nnode\/n1 (drained|evicted)/,
    );
    expect(await fails('get pod guest')).toContain('(NotFound)');
  });
});

describe('a request to sign', () => {
  test('is approved or denied', async () => {
    const request = Buffer.from(REQUEST).toString('base64');
    const spec = { request, usages: ['client auth'], signerName: 'example.com/signer' };
    const path = plane.path('certificates/v1', 'certificatesigningrequests');
    await Promise.all(['yes', 'no'].map((name) => plane.post(path, { metadata: { name }, spec })));
    expect(await ok('certificate approve yes')).toMatch(/\/yes approved$/);
    expect(await ok('certificate deny no')).toMatch(/\/no denied$/);
    const rows = await table('get csr --no-headers');
    // It may be signed by now.
    expect(rows.map((row) => [row[0], row.at(-1)?.replace(',Issued', '')])).toEqual([
      ['no', 'Denied'],
      ['yes', 'Approved'],
    ]);
  });
});

/** Made by openssl: an elliptic curve key, CN=jane. */
const REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIHJMHECAQAwDzENMAsGA1UEAwwEamFuZTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABBYDvpSnjixbLCkT8aOZ3VyR6Z10zQbG7WgPOW1ba1xI48AWM6Pb4MrzaOC3
4hCHFRnZLBQaffgIxaBT2fY45vqgADAKBggqhkjOPQQDAgNIADBFAiEAgdk0uso0
rIyWNLneR/+zGK1prNiw5Az6x0x4obCWj8cCIFwE1NsSEw0RbjOL6dI1K0bpz8Xw
avx8+bAerE8cYrky
-----END CERTIFICATE REQUEST-----
`;
