/** Our agent with upstream's API server: it joins, registers a node, runs pods and serves their logs and
 *  streams, and requests nothing that is forbidden to nodes. */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import {
  containerId,
  hasPhase,
  isRunning,
  pod as manifest,
  sh,
  statusOf,
  WAIT,
} from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { NODE, type OnUpstream, PODS, startOnUpstream } from './agent.ts';

const WORDS = VOCABULARIES.kubernetes;
const CORE = '/api/v1/namespaces/default';
const MERGE = 'application/merge-patch+json';
const LEASE = `/apis/coordination.${WORDS.apiGroupDomain}/v1/namespaces/${WORDS.nodeLeaseNamespace}/leases/${NODE}`;

describe('our agent with a stock API server', () => {
  let on: OnUpstream;
  const kubectl = useKubectl(() => on.server.configFile);
  const { ok, run, start } = kubectl;
  beforeAll(async () => {
    on = await startOnUpstream();
  });
  afterAll(() => on[Symbol.asyncDispose]());

  const get = async <T>(path: string): Promise<T> => {
    const { status, text } = await on.server.call('GET', path);
    if (status !== 200) throw new Error(`${path}: ${text}`);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
    return JSON.parse(text) as T;
  };
  const events = async (name: string): Promise<readonly string[]> => {
    const selector = encodeURIComponent(`involvedObject.name=${name}`);
    const { items } = await get<{ items: readonly { reason: string }[] }>(
      `${CORE}/events?fieldSelector=${selector}`,
    );
    return items.map(({ reason }) => reason);
  };

  test('joins by a token, and is a node', async () => {
    expect(on.requesters).toEqual(['system:bootstrap:abcdef', `system:node:${NODE}`]);
    const node = await eventually(
      async () => {
        const found = await get<Node>(`/api/v1/nodes/${NODE}`);
        const ready = found.status?.conditions?.find(({ type }) => type === 'Ready');
        return ready?.status === 'True' && found;
      },
      { timeoutMs: 30_000 },
    );
    expect(node.metadata?.labels?.[WORDS.labelHostname]).toBe(NODE);
    expect(node.status?.nodeInfo?.containerRuntimeVersion).toMatch(/^containerd:/);
    expect(Number(node.status?.allocatable?.['cpu'])).toBeGreaterThan(0);
    expect(await ok('get nodes -o wide')).toMatch(/^n1 +Ready /m);
    expect(await ok(`describe node ${NODE}`)).toContain(`${WORDS.agentReasonPrefix}Ready`);
  });

  test('renews its lease', async () => {
    const before = await eventually(() => get<{ spec: { renewTime: string } }>(LEASE));
    await expect
      .poll(async () => (await get<{ spec: { renewTime: string } }>(LEASE)).spec.renewTime, {
        timeout: 30_000,
      })
      .not.toBe(before.spec.renewTime);
  });

  test('runs a pod that is bound to it, and reports its status and events', async () => {
    await on.run('web', {
      hostNetwork: false,
      containers: [
        sh('c', `mkdir /w; echo served > /w/index.html; echo begun; httpd -p 8080 -h /w; ${WAIT}`, {
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
        }),
      ],
    });
    const pod = await on.shows('web', isReady);
    expect(pod.status).toMatchObject({ phase: 'Running', qosClass: 'BestEffort' });
    expect(pod.status?.podIP).toMatch(/^\d/);
    expect(pod.status?.podIPs).toEqual([{ ip: pod.status?.podIP }]);
    await expect.poll(() => events('web'), { timeout: 20_000 }).toContain('Started');
  });

  test('serves logs and streams through the server to the stock client', async () => {
    expect(await ok('logs web')).toBe('begun');
    expect(await ok(['exec', 'web', '--', 'cat', '/w/index.html'])).toBe('served');
    expect((await run(['exec', 'web', '--', 'sh', '-c', 'exit 5'])).code).toBe(5);
    expect(await ok(['exec', '-i', 'web', '--', 'wc', '-c'], { input: 'x'.repeat(100_000) })).toBe('100000');
    await writeFile(`${kubectl.dir()}/file`, 'copied');
    await ok(['cp', `${kubectl.dir()}/file`, 'web:/w/file']);
    expect(await ok('exec web -- cat /w/file')).toBe('copied');
    await using forward = start(['port-forward', 'web', ':8080']);
    const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(await forward.line()) ?? [];
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('served\n');
    expect(await ok(['get', '--raw', `${PODS}/web:8080/proxy/`])).toBe('served');
    const pods = JSON.parse(await ok(['get', '--raw', `/api/v1/nodes/${NODE}/proxy/pods`])) as {
      items: Pod[];
    };
    expect(pods.items.map(({ metadata }) => metadata?.name)).toContain('web');
  });

  test('keeps ConfigMaps and Secrets in volumes up to date', async () => {
    await on.server.create(`${CORE}/configmaps`, { metadata: { name: 'conf' }, data: { level: 'one' } });
    await on.server.create(`${CORE}/secrets`, { metadata: { name: 'key' }, stringData: { word: 'sesame' } });
    await on.run('reader', {
      volumes: [
        { name: 'conf', configMap: { name: 'conf' } },
        { name: 'key', secret: { secretName: 'key' } },
      ],
      containers: [
        sh('c', WAIT, {
          envFrom: [{ configMapRef: { name: 'conf' } }],
          volumeMounts: [
            { name: 'conf', mountPath: '/conf' },
            { name: 'key', mountPath: '/key' },
          ],
        }),
      ],
    });
    const pod = await on.shows('reader', isReady);
    expect(await on.inside(pod, 'echo $level; cat /conf/level /key/word')).toBe('one\nonesesame');
    await on.server.call('PATCH', `${CORE}/configmaps/conf`, { data: { level: 'two' } }, MERGE);
    await on.server.call('PATCH', `${CORE}/secrets/key`, { stringData: { word: 'other' } }, MERGE);
    await expect
      .poll(() => on.inside(pod, 'cat /conf/level /key/word'), { timeout: 20_000 })
      .toBe('twoother');
  });

  test('gets a token for the pod’s account, which the server accepts', async () => {
    const pod = await on.shows('reader', isReady);
    const folder = pod.spec?.containers[0]?.volumeMounts?.find(({ name }) => name.includes('-api-access'));
    const token = await on.inside(pod, `cat ${folder?.mountPath}/token`);
    const review = await on.server.call(
      'POST',
      `/apis/authentication.${WORDS.apiGroupDomain}/v1/tokenreviews`,
      {
        spec: { token },
      },
    );
    expect(review.body.status).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:default:default' },
    });
    expect(await on.inside(pod, `cat ${folder?.mountPath}/ca.crt`)).toBe(on.server.authority.certificate);
  });

  test('reads claims, volumes and runtime classes of its pods', async () => {
    const size = { storage: '1Gi' };
    const terms = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    await on.server.create(`/apis/node.${WORDS.apiGroupDomain}/v1/runtimeclasses`, {
      metadata: { name: 'plain' },
      handler: 'runc',
    });
    const claims = `${CORE}/persistentvolumeclaims`;
    const claim = await on.server.create(claims, {
      metadata: { name: 'claim' },
      spec: { ...terms, volumeName: 'vol', resources: { requests: size } },
    });
    await on.server.create('/api/v1/persistentvolumes', {
      metadata: { name: 'vol' },
      spec: {
        ...terms,
        capacity: size,
        hostPath: { path: `${on.agent.folder}/vol`, type: 'DirectoryOrCreate' },
        claimRef: { namespace: 'default', name: 'claim', uid: claim.metadata.uid },
      },
    });
    await on.server.call('PUT', `${claims}/claim/status`, { ...claim, status: { phase: 'Bound' } });
    await on.run('keeper', {
      runtimeClassName: 'plain',
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
      containers: [
        sh('c', `echo kept > /v/file; ${WAIT}`, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ],
    });
    await on.shows('keeper', isReady);
    await expect.poll(() => readFile(`${on.agent.folder}/vol/file`, 'utf8').catch(String)).toBe('kept\n');
  });

  test('shows static pods as mirrors', async () => {
    await on.agent.put('fixed.json', manifest('fixed', { containers: [sh('c', WAIT)] }));
    const mirror = await on.shows(`fixed-${NODE}`, isReady);
    expect(mirror.metadata?.annotations?.[WORDS.configMirror]).toBeTruthy();
    await ok(`delete pod fixed-${NODE} --wait=false --grace-period=0 --force`);
    const again = await on.shows(
      `fixed-${NODE}`,
      (found) => found.metadata?.uid !== mirror.metadata?.uid && isReady(found),
    );
    expect(containerId(again, 'c')).toBe(containerId(mirror, 'c'));
    await on.agent.drop('fixed.json');
    await on.isGone(`fixed-${NODE}`);
  });

  test('ends a pod with its grace before the server forgets it', async () => {
    await on.run('polite', {
      terminationGracePeriodSeconds: 30,
      containers: [sh('c', 'trap "echo bye; sleep 1; exit 0" TERM; while :; do sleep 1; done')],
    });
    await on.shows('polite', isReady);
    await using following = start('logs -f polite');
    await ok('delete pod polite --wait=false');
    expect(await following.line()).toBe('bye');
    await on.isGone('polite');
  });

  test('connects a client to the streams of a container', async () => {
    const talk = 'while read -r line; do echo "heard $line"; done';
    await on.run('talker', { containers: [sh('c', talk, { stdin: true })] });
    await on.shows('talker', isReady);
    await using attached = start('attach -i talker');
    attached.say('you\n');
    expect(await attached.line()).toBe('heard you');
  });

  test('reports how a pod terminated', async () => {
    await on.run('short', { restartPolicy: 'Never', containers: [sh('c', 'exit 3')] });
    const pod = await on.shows('short', hasPhase('Failed'));
    expect(statusOf(pod, 'c')?.state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
  });

  test('runs an ephemeral container', async () => {
    // In this release the subresource has a kind of its own, which newer clients don't know.
    const path = `${PODS}/web/ephemeralcontainers`;
    const { body } = await on.server.call('GET', path);
    const containers = [{ ...sh('looker', `echo seen; ${WAIT}`), imagePullPolicy: 'IfNotPresent' }];
    const { status } = await on.server.call('PUT', path, { ...body, ephemeralContainers: containers });
    expect(status).toBe(200);
    await on.shows('web', isRunning('looker'));
    await expect.poll(() => ok('logs web -c looker'), { timeout: 20_000 }).toBe('seen');
  });

  test('requests nothing that is forbidden to nodes, and for nothing in a wrong way', async () => {
    const bad = (await on.server.audited())
      .filter(({ responseStatus }) => ![200, 201, 404, 409].includes(responseStatus?.code ?? 200))
      .map(({ verb, requestURI, responseStatus }) => [verb, requestURI, responseStatus]);
    expect(bad).toEqual([]);
    const names = new Set((await on.server.audited()).map(({ user }) => user.username));
    expect([...names].toSorted()).toEqual(['system:bootstrap:abcdef', `system:node:${NODE}`]);
  });

  test('speaks protobuf', async () => {
    const metrics = await ok('get --raw /metrics');
    // Only the agent writes leases; the test reads some.
    const ofLeases = metrics
      .split('\n')
      .filter((line) => /^apiserver_request_total.*resource="leases".*verb="P/.test(line));
    const types = new Set(ofLeases.map((line) => /contentType="([^"]*)"/.exec(line)?.[1]));
    expect([...types]).toEqual([WORDS.protobufContentType]);
  });

  test('goes on when the server was away, and hears what happened meanwhile', async () => {
    const before = await on.shows('reader', isReady);
    await on.server.process.stop('SIGKILL');
    await on.server.process.start();
    const name = `later-${randomUUID().slice(0, 5)}`;
    await on.run(name, { containers: [sh('c', WAIT)] });
    await on.shows(name, isReady);
    expect(containerId(await on.shows('reader', isReady), 'c')).toBe(containerId(before, 'c'));
    expect(await ok(['exec', name, '--', 'echo', 'hello'])).toBe('hello');
  });
});
