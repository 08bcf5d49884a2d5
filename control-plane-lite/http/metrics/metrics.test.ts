import { request } from 'undici';
import { expect, test } from 'vitest';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { jsonResponse, startTestServer } from '../server.fixture.ts';
import { addProcessMetrics, lagSeconds, metricsRoute } from './metrics.ts';

const domain = VOCABULARIES.plat.apiGroupDomain;

test('requests are counted and timed under the names of the field', async () => {
  const registry = createMetricsRegistry();
  await using server = await startTestServer({
    deps: {
      registry,
      routes: [metricsRoute(registry)],
      isServed: ({ resource }) => resource === 'pods',
    },
    resources: (incoming) => {
      if (incoming.info.resource === 'pods') {
        incoming.annotate(`${domain}/deprecated`, 'true');
        incoming.annotate(`${domain}/removed-release`, '1.25');
      }
      return jsonResponse({}, 201);
    },
  });
  const send = async (
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    type = 'application/json',
  ): Promise<void> => {
    const { body } = await request(server.url + path, { method, headers: { 'content-type': type } });
    await body.dump();
  };
  await send('POST', '/api/v1/namespaces/n/pods?dryRun=All');
  await send('GET', '/api/v1/pods');
  await send('GET', '/api/v1/pods');
  await send('PATCH', '/api/v1/namespaces/n/pods/p', 'application/apply-patch+yaml');
  await send('GET', '/api/v1/made-up');
  const { headers, body } = await request(`${server.url}/metrics`);
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await body.text()).split('\n');
  const place = 'group="",version="v1",resource="pods",subresource=""';
  expect(lines).toEqual(
    expect.arrayContaining([
      `apiserver_request_total{verb="POST",dry_run="All",${place},scope="resource",component="apiserver",code="201"} 1`,
      `apiserver_request_total{verb="LIST",dry_run="",${place},scope="cluster",component="apiserver",code="201"} 2`,
      `apiserver_request_total{verb="APPLY",dry_run="",${place},scope="resource",component="apiserver",code="201"} 1`,
      `apiserver_request_duration_seconds_count{verb="LIST",dry_run="",${place},scope="cluster",component="apiserver"} 2`,
      `apiserver_requested_deprecated_apis{${place},removed_release="1.25"} 1`,
      'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
      'apiserver_current_inflight_requests{request_kind="mutating"} 0',
    ]),
  );
  expect(lines.join('\n')).not.toContain('made-up');
});

test('an event loop that is never late has no lag', () => {
  expect(lagSeconds(19_900_000)).toBe(0);
  expect(lagSeconds(20_000_000)).toBe(0);
  expect(lagSeconds(70_000_000)).toBeCloseTo(0.05);
});

test('the process is measured', () => {
  const registry = createMetricsRegistry();
  const stop = addProcessMetrics(registry);
  const text = registry.text();
  stop();
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
  ]) {
    expect(text).toMatch(new RegExp(`^${name} [1-9]|^${name} 0\\.`, 'm'));
  }
  expect(text).toContain(`nodejs_version_info{version="${process.version}"} 1`);
});
