/** Initial objects of every server. Source: upstream, release 1.24. */
import { describe, expect, test } from 'vitest';
import { usePlane, VOCABULARY_NAMES } from './support.ts';

describe.each(VOCABULARY_NAMES)('a new server of the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const { words } = plane;

  test('has the namespaces of the system', async () => {
    const { body } = await plane.get('/api/v1/namespaces');
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual([
      'default',
      words.nodeLeaseNamespace,
      words.publicNamespace,
      words.systemNamespace,
    ]);
    expect(body.items[0]?.metadata.labels).toEqual({ [`${words.domain}/metadata.name`]: 'default' });
  });

  test('has the priority classes of the system, and leaves them as they are', async () => {
    const path = plane.path('scheduling/v1', 'priorityclasses');
    const { body } = await plane.get(path);
    const values = body.items.map((item) => [
      item.metadata.name,
      (item as unknown as { value: number }).value,
    ]);
    expect(values).toEqual([
      ['system-cluster-critical', 2_000_000_000],
      ['system-node-critical', 2_000_001_000],
    ]);
    await plane.patch(`${path}/system-node-critical`, { description: 'mine' });
    await plane.server.restart();
    const kept = (await plane.get(`${path}/system-node-critical`)).body;
    expect(kept).toMatchObject({ description: 'mine', preemptionPolicy: 'PreemptLowerPriority' });
  });

  test('has a service that leads to it, and brings it back', async () => {
    const path = `/api/v1/namespaces/default/services/${words.apiService}`;
    const { body } = await plane.get(path);
    const targetPort = Number(new URL(plane.server.url).port);
    expect(body).toMatchObject({
      metadata: { labels: { component: 'apiserver', provider: words.apiService } },
      spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, targetPort }] },
    });
    await using watch = await plane.watch(
      `/api/v1/namespaces/default/services?watch=1&resourceVersion=${body.metadata.resourceVersion}`,
    );
    await plane.delete(path);
    expect(await watch.take(2)).toEqual([`DELETED ${words.apiService}`, `ADDED ${words.apiService}`]);
    expect((await plane.get(path)).body.spec).toMatchObject({ clusterIP: '10.0.0.1' });
    // Loopback addresses are unreachable for other hosts.
    expect((await plane.get('/api/v1/namespaces/default/endpoints')).body.items).toEqual([]);
  });
});
