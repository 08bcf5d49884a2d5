/** Subresources: status, scale, binding, eviction, ephemeralcontainers, approval. Document 1 §1.3, 4.1 and
 *  4.2. */
import { beforeAll, describe, expect, test } from 'vitest';
import { builtinFacts } from '#plane/resources/facts.ts';
import { eventually } from '../../testing/wait.ts';
import { samples } from './kinds.ts';
import { type Body, type Json, pod, type Reply, STRATEGIC, usePlane, workload } from './support.ts';

describe('status', () => {
  const plane = usePlane();
  const parts = new Map(builtinFacts(plane.words).map(({ typeRef, info }) => [typeRef, info.subresources]));
  const split = samples(plane.words).filter(({ typeRef }) => parts.get(typeRef)?.has('status'));

  test.each(split)('of $id is read, and changes without the spec', async ({ path, object, kind }) => {
    const one = `${path}/${object.metadata.name}`;
    const created = (await plane.post(path, object)).body;
    expect((await plane.get(`${one}/status`)).body).toMatchObject({
      kind,
      metadata: { uid: created.metadata.uid },
    });
    const changed = await plane.patch(`${one}/status`, { spec: null });
    expect(changed).toMatchObject({ status: 200, body: { kind } });
    expect(changed.body.spec).toEqual(created.spec);
    expect(changed.body.metadata.generation).toBe(created.metadata.generation);
    // Controllers write the status of new objects concurrently; a conflict is retried after a read.
    const put = await eventually(async () => {
      const { status } = await plane.put(`${one}/status`, (await plane.get(one)).body);
      return status === 409 ? undefined : { status };
    });
    expect(put.status).toBe(200);
    await plane.delete(one, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
  });

  test('the main resource leaves status alone, status leaves the rest alone', async () => {
    const path = `${await plane.namespace()}/pods`;
    await plane.post(path, { ...pod('a'), status: { phase: 'Running', message: 'claimed' } });
    const { body } = await plane.get(`${path}/a`);
    expect(body.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    const reported = await plane.put(`${path}/a/status`, {
      ...body,
      spec: { ...body.spec, containers: [{ name: 'other', image: 'alpine' }] },
      status: { phase: 'Running', podIP: '10.1.1.1' },
    });
    expect(reported.body.status).toMatchObject({ phase: 'Running', podIP: '10.1.1.1' });
    expect(reported.body.spec).toEqual(body.spec);
    const kept = await plane.patch(`${path}/a`, {
      status: { phase: 'Failed' },
      metadata: { labels: { a: 'b' } },
    });
    expect(kept.body).toMatchObject({ status: { phase: 'Running' }, metadata: { labels: { a: 'b' } } });
  });

  test('a node brings its own status when it registers', async () => {
    const node = { metadata: { name: 'n1' }, status: { capacity: { cpu: '2' } } };
    const { body } = await plane.post('/api/v1/nodes', node);
    expect(body.status).toMatchObject({ capacity: { cpu: '2' }, allocatable: { cpu: '2' } });
  });

  test('generation counts changes of the spec, not of status or metadata', async () => {
    const path = `${(await plane.namespace()).replace('/api/v1', '/apis/apps/v1')}/deployments`;
    const generations: unknown[] = [];
    const note = ({ body }: Reply): void => void generations.push(body.metadata.generation);
    note(await plane.post(path, workload('Deployment', 'a')));
    note(await plane.patch(`${path}/a`, { metadata: { labels: { x: 'y' } } }));
    note(await plane.patch(`${path}/a/status`, { status: { observedGeneration: 1, replicas: 1 } }));
    note(await plane.patch(`${path}/a`, { spec: { replicas: 2 } }));
    note(await plane.patch(`${path}/a`, { spec: { replicas: 2 } }));
    await plane.patch(`${path}/a/scale`, { spec: { replicas: 3 } });
    note(await plane.get(`${path}/a`));
    expect(generations).toEqual([1, 1, 1, 2, 2, 3]);
  });
});

describe('scale', () => {
  const plane = usePlane();
  const template = {
    metadata: { labels: { app: 'a' } },
    spec: { containers: [{ name: 'c', image: 'busybox' }] },
  };

  test.each<[string, string, Json]>([
    ['deployments', 'apps/v1', workload('Deployment', 'a')],
    ['replicasets', 'apps/v1', workload('ReplicaSet', 'a')],
    ['statefulsets', 'apps/v1', workload('StatefulSet', 'a', { serviceName: 'a' })],
    ['replicationcontrollers', 'v1', { metadata: { name: 'a' }, spec: { template } }],
  ])('of %s', async (plural, version, object) => {
    const folder = await plane.namespace();
    const path = `${version === 'v1' ? folder : folder.replace('/api/v1', '/apis/apps/v1')}/${plural}`;
    await plane.post(path, object);
    const scale = `${path}/a/scale`;
    const { body } = await plane.get(scale);
    const { uid, resourceVersion } = (await plane.get(`${path}/a`)).body.metadata;
    expect(body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', namespace: folder.split('/').at(-1), uid, resourceVersion },
      spec: { replicas: 1 },
      status: { replicas: 0, selector: 'app=a' },
    });
    const put = await plane.put(scale, { ...body, spec: { replicas: 3 } });
    expect(put).toMatchObject({ status: 200, body: { kind: 'Scale', spec: { replicas: 3 } } });
    expect((await plane.get(`${path}/a`)).body.spec).toMatchObject({ replicas: 3 });
    expect((await plane.put(scale, { ...body, spec: { replicas: 4 } })).status).toBe(409);
    expect((await plane.patch(scale, { spec: { replicas: 5 } })).body.spec).toEqual({ replicas: 5 });
    const negative = await plane.patch(scale, { spec: { replicas: -1 } });
    expect(negative).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'spec.replicas' }] } },
    });
    expect((await plane.get(`${path}/none/scale`)).status).toBe(404);
    expect((await plane.post(scale, body)).status).toBe(405);
  });
});

describe('pods', () => {
  const plane = usePlane();
  let folder = '';
  let names = 0;
  beforeAll(async () => {
    folder = await plane.namespace();
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
  });
  async function made(spec: Json = {}, metadata: Json = {}): Promise<string> {
    const name = `p-${(names += 1)}`;
    await plane.post(`${folder}/pods`, pod(name, spec, metadata));
    return name;
  }
  const bindingOf = (name: string, node = 'n1'): Json => ({
    metadata: { name },
    target: { kind: 'Node', name: node },
  });

  test.each([
    ['the pod’s subresource', (name: string) => `pods/${name}/binding`],
    ['bindings', () => 'bindings'],
  ])('binding through %s sets the node and a condition', async (_, path) => {
    const name = await made();
    const response = await plane.post(`${folder}/${path(name)}`, bindingOf(name));
    expect(response).toMatchObject({ status: 201, body: { kind: 'Status', status: 'Success' } });
    const { body } = await plane.get(`${folder}/pods/${name}`);
    expect(body.spec).toMatchObject({ nodeName: 'n1' });
    expect(body.status['conditions']).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
  });

  test('binding is refused where it would be a second one, or has no target', async () => {
    const name = await made();
    await plane.post(`${folder}/pods/${name}/binding`, bindingOf(name));
    const again = await plane.post(`${folder}/pods/${name}/binding`, bindingOf(name, 'n2'));
    expect(again).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    const other = await made();
    expect((await plane.post(`${folder}/pods/${other}/binding`, { metadata: { name: other } })).status).toBe(
      422,
    );
    expect((await plane.post(`${folder}/pods/none/binding`, bindingOf('none'))).status).toBe(404);
    await plane.delete(`${folder}/pods/${name}?gracePeriodSeconds=0`);
  });

  test('ephemeral containers are added, never changed or removed', async () => {
    const name = await made();
    const path = `${folder}/pods/${name}/ephemeralcontainers`;
    const add = (container: Json): Promise<Reply> =>
      plane.patch(path, { spec: { ephemeralContainers: [container] } }, STRATEGIC);
    const added = await add({ name: 'debug', image: 'busybox', terminationMessagePolicy: 'File' });
    expect(added.body.spec['ephemeralContainers']).toMatchObject([{ name: 'debug', image: 'busybox' }]);
    expect((await add({ name: 'second', image: 'busybox' })).body.spec['ephemeralContainers']).toHaveLength(
      2,
    );
    expect((await add({ name: 'debug', image: 'alpine' })).status).toBe(422);
    expect((await plane.patch(path, { spec: { ephemeralContainers: null } })).status).toBe(422);
    const direct = await plane.patch(`${folder}/pods/${name}`, { spec: { ephemeralContainers: null } });
    expect(direct.status).toBe(422);
    const late = pod('late', { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] });
    expect((await plane.post(`${folder}/pods`, late)).status).toBe(422);
  });

  test.each([
    ['exec?command=x', 'pod NAME does not have a host assigned'],
    ['attach', 'pod NAME does not have a host assigned'],
    ['portforward', 'pod NAME does not have a host assigned'],
    ['proxy/x', 'address not allowed'],
    ['exec?command=x&container=other', 'container other is not valid for pod NAME'],
  ])('%s leads nowhere while the pod has no node', async (rest, message) => {
    const name = await made();
    const { status, body } = await plane.get(`${folder}/pods/${name}/${rest}`);
    expect([status, body.message]).toEqual([400, message.replace('NAME', name)]);
  });

  test('a pod without a node has an empty log', async () => {
    const name = await made();
    expect(await plane.get(`${folder}/pods/${name}/log`)).toMatchObject({ status: 200, text: '' });
  });

  test('a node that is not there has no log', async () => {
    const name = await made({ nodeName: 'nowhere' });
    const { status, body } = await plane.get(`${folder}/pods/${name}/log`);
    expect([status, body.message]).toEqual([404, 'nodes "nowhere" not found']);
  });

  describe('eviction', () => {
    const evict = (name: string, more: Json = {}): Promise<Reply> =>
      plane.post(`${folder}/pods/${name}/eviction`, { metadata: { name }, ...more });
    /** A budget for the pods with the label `app: <name>`, with as many disruptions. */
    async function budget(name: string, disruptionsAllowed: number): Promise<Body> {
      const path = `${folder.replace('/api/v1', '/apis/policy/v1')}/poddisruptionbudgets`;
      const spec = { minAvailable: 1, selector: { matchLabels: { app: name } } };
      const { body } = await plane.post(path, { metadata: { name }, spec });
      const counts = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed };
      const status = { observedGeneration: body.metadata.generation, ...counts };
      expect((await plane.patch(`${path}/${name}/status`, { status })).status).toBe(200);
      return body;
    }
    const running = async (app: string): Promise<string> => {
      const name = await made({ nodeName: 'n1' }, { labels: { app } });
      await plane.patch(`${folder}/pods/${name}/status`, { status: { phase: 'Running' } });
      return name;
    };

    test('deletes the pod where no budget covers it', async () => {
      const name = await made();
      expect(await evict(name)).toMatchObject({ status: 201, body: { kind: 'Status', status: 'Success' } });
      expect((await plane.get(`${folder}/pods/${name}`)).status).toBe(404);
      expect((await evict('none')).status).toBe(404);
    });

    test('is refused with 429 and the budget’s name while the budget has nothing to give', async () => {
      await budget('tight', 0);
      const name = await running('tight');
      const response = await evict(name);
      expect(response).toMatchObject({ status: 429, body: { reason: 'TooManyRequests' } });
      expect(response.body.details.causes).toMatchObject([{ reason: 'DisruptionBudget' }]);
      expect(response.body.details.causes?.[0]?.message).toContain('tight');
      expect((await plane.get(`${folder}/pods/${name}`)).body.metadata.deletionTimestamp).toBeUndefined();
    });

    test('uses one disruption of the budget and records the pod there', async () => {
      await budget('loose', 1);
      const [first, second] = [await running('loose'), await running('loose')];
      expect((await evict(first, { deleteOptions: { gracePeriodSeconds: 3 } })).status).toBe(201);
      const path = `${folder.replace('/api/v1', '/apis/policy/v1')}/poddisruptionbudgets/loose`;
      const { status } = (await plane.get(path)).body;
      expect(status).toMatchObject({
        disruptionsAllowed: 0,
        disruptedPods: { [first]: expect.any(String) as string },
      });
      const marked = (await plane.get(`${folder}/pods/${first}`)).body.metadata;
      expect(marked.deletionGracePeriodSeconds).toBe(3);
      expect((await evict(second)).status).toBe(429);
    });

    test('a pod that is done needs no budget', async () => {
      const name = await running('tight');
      await plane.patch(`${folder}/pods/${name}/status`, { status: { phase: 'Succeeded' } });
      expect((await evict(name)).status).toBe(201);
    });

    test('both versions of Eviction are accepted', async () => {
      const name = await made();
      expect((await evict(name, { apiVersion: 'policy/v1', kind: 'Eviction' })).status).toBe(201);
      const other = await made();
      expect((await evict(other, { apiVersion: 'policy/v1beta1', kind: 'Eviction' })).status).toBe(201);
    });
  });
});

describe('certificate requests', () => {
  const plane = usePlane();
  const path = plane.path('certificates/v1', 'certificatesigningrequests');
  const request = samples(plane.words).find(({ kind }) => kind === 'CertificateSigningRequest');
  const condition = (type: string): Json => ({ type, status: 'True', reason: 'Because', message: 'x' });

  test('the requesting user is recorded, whatever the object contains', async () => {
    const object = { ...request?.object, metadata: { name: 'mine' } } as Json & { spec?: Json };
    const claimed = { ...object, spec: { ...object.spec, username: 'somebody', groups: ['system:masters'] } };
    const { status, body } = await plane.post(path, claimed);
    expect(status).toBe(201);
    expect(body.spec['username']).not.toBe('somebody');
    expect(body.spec['groups']).toContain('system:authenticated');
    expect((await plane.patch(`${path}/mine`, { spec: { usages: ['server auth'] } })).body.spec).toEqual(
      body.spec,
    );
  });

  test('approval changes conditions, and nothing else does', async () => {
    const object = { ...request?.object, metadata: { name: 'requested' } } as Json & { spec?: Json };
    // Of a signer that is not there.
    await plane.post(path, { ...object, spec: { ...object.spec, signerName: 'example.com/signer' } });
    const one = `${path}/requested`;
    const conditions = async (): Promise<unknown> => (await plane.get(one)).body.status['conditions'];
    await plane.patch(one, { status: { conditions: [condition('Approved')] } });
    expect(await conditions()).toBeUndefined();
    const denied = await plane.patch(`${one}/approval`, { status: { conditions: [condition('Approved')] } });
    expect(denied.status).toBe(200);
    expect(await conditions()).toMatchObject([{ type: 'Approved', status: 'True' }]);
    const both = [condition('Approved'), condition('Denied')];
    expect((await plane.patch(`${one}/approval`, { status: { conditions: both } })).status).toBe(422);
    await plane.patch(`${one}/approval`, { status: { certificate: 'AAAA' } });
    expect((await plane.get(one)).body.status).not.toHaveProperty('certificate');
  });
});
