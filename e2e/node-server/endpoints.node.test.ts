/** Endpoints of the agent's server: authentication, authorization and content. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { beforeAll, describe, expect, test } from 'vitest';
import type { PodList } from '#api/gen/core-v1.ts';
import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useNode } from './support.ts';

interface HttpResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Volumes are measured often: at the first time, the pod may not have written yet. */
const node = useNode({ flags: () => ['--volume-stats-agg-period=1s'] });

/** With the administrator's certificate by default. */
function send(
  path: string,
  options: { method?: string; anonymous?: boolean; body?: string } = {},
): Promise<HttpResponse> {
  const { cert, key } = node.plane.server.credentials();
  const proof = options.anonymous === true ? {} : { cert, key };
  return new Promise((resolve, reject) => {
    const { method = 'GET' } = options;
    const common = { host: '127.0.0.1', port: node.port(), path, method, rejectUnauthorized: false };
    httpsRequest({ ...common, ...proof, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text });
      });
    })
      .once('error', reject)
      .end(options.body);
  });
}

function askOpen(path: string): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port: node.readOnlyPort(), path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, type: '', text }));
    })
      .once('error', reject)
      .end();
  });
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly atMs: number;
}

/** Parses the text format of metrics; a line that is neither sample nor comment is an error. */
function parseSamples(text: string): readonly Sample[] {
  return text
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = '', at = '0'] =
        /^([a-z_]+)(?:\{(.*)\})? (\S+)(?: (\d+))?$/.exec(line) ?? [];
      if (name === '') throw new Error(`no sample: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/g)];
      return {
        name,
        labels: Object.fromEntries(pairs.map(([, key, label]) => [key ?? '', label ?? ''])),
        value: Number(value),
        atMs: Number(at),
      };
    });
}

let web: string;
beforeAll(async () => {
  const readinessProbe = { exec: { command: ['test', '-s', '/fast/f'] }, periodSeconds: 1 };
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'fast', mountPath: '/fast' },
  ];
  const work = 'dd if=/dev/zero of=/data/f bs=1k count=300 2>/dev/null; echo x > /fast/f';
  web = await node.run('web', {
    hostNetwork: false,
    containers: [sh('main', `echo hello; ${work}; ${WAIT}`, { readinessProbe, volumeMounts })],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'fast', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ],
  });
});

describe('the server', () => {
  test.each(['/healthz', '/pods', '/exec/default/x/y', '/no/such'])(
    'rejects clients without credentials (%s)',
    async (path) => {
      const result = await send(path, { anonymous: true });
      expect([result.status, result.text]).toEqual([401, 'Unauthorized\n']);
    },
  );

  test('reports that it is healthy', async () => {
    expect(await send('/healthz')).toEqual({ status: 200, type: 'text/plain; charset=utf-8', text: 'ok' });
  });

  test('lists its pods', async () => {
    const { items } = JSON.parse((await send('/pods')).text) as PodList;
    expect(items.map(({ metadata, status }) => [metadata?.name, status?.phase])).toEqual([[web, 'Running']]);
    const running = JSON.parse((await send('/runningpods/')).text) as PodList;
    expect(running.items).toMatchObject([
      { metadata: { name: web }, spec: { containers: [{ name: 'main' }] } },
    ]);
  });

  test('reports usage', async () => {
    const { node: machine, pods } = JSON.parse((await send('/stats/summary')).text) as Summary;
    expect(machine.nodeName).toBe('n1');
    expect(machine.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect([machine.cpu?.time, machine.startTime].join(' ')).toMatch(/^\S{19}Z \S{19}Z$/);
    expect(machine.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(machine.fs?.capacityBytes).toBeGreaterThan(0);
    expect(machine.runtime?.imageFs?.capacityBytes).toBeGreaterThan(0);
    expect(pods).toMatchObject([{ podRef: { name: web }, containers: [{ name: 'main' }] }]);
    expect(pods[0]?.containers[0]?.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    // A rate needs two samples, and is available at once.
    expect(machine.cpu?.usageNanoCores).toBeGreaterThan(0);
    expect(pods[0]?.containers[0]?.cpu?.usageNanoCores).toBeGreaterThanOrEqual(0);
    expect(machine.systemContainers).toMatchObject([{ name: 'nodeagent' }, { name: 'pods' }]);
    expect(machine.systemContainers?.[0]?.memory?.rssBytes).toBeGreaterThan(1_000_000);
    expect(machine.rlimit?.curproc).toBeGreaterThan(0);
    const short = JSON.parse((await send('/stats/summary?only_cpu_and_memory=true')).text) as Summary;
    expect(Object.keys(short.node)).toEqual(['nodeName', 'startTime', 'cpu', 'memory']);
  });

  test('reports the usage of a pod’s volumes, logs and network', async () => {
    const pod = await eventually(async () => {
      const { pods } = JSON.parse((await send('/stats/summary')).text) as Summary;
      return pods.find((each) =>
        each.volume?.some(({ name, inodesUsed }) => name === 'data' && inodesUsed === 2),
      );
    });
    const [data, fast] = ['data', 'fast'].map((name) => pod.volume?.find((each) => each.name === name));
    expect(data).toMatchObject({ inodesUsed: 2 });
    expect(data?.usedBytes).toBeGreaterThanOrEqual(300 * 1024);
    expect(data?.capacityBytes).toBeGreaterThan(100 * 1024 * 1024);
    // A separate file system.
    expect(fast).toMatchObject({ capacityBytes: 1024 * 1024, usedBytes: 4096 });
    expect(pod.containers[0]?.logs?.usedBytes).toBeGreaterThan(0);
    expect(pod['ephemeral-storage']?.usedBytes).toBeGreaterThanOrEqual(300 * 1024);
    expect(pod.network?.interfaces?.map(({ name }) => name)).toContain('eth0');
    expect(pod.network).toMatchObject({ name: 'eth0' });
    expect(pod.process_stats?.process_count).toBeGreaterThan(0);
  });

  test('serves the metrics that upstream’s container monitoring reads', async () => {
    const { text } = await send('/metrics/cadvisor');
    const ofMain = `container="main",id="[^"]+",image="[^"]+",name="[0-9a-f]{64}",namespace="default",pod="${web}"`;
    const value = (name: string, more = ''): number => {
      const line = new RegExp(`^container_${name}\\{${ofMain}${more}\\} (\\S+) \\d{13}$`, 'm').exec(text);
      return Number(line?.[1]);
    };
    expect(value('cpu_usage_seconds_total', ',cpu="total"')).toBeGreaterThan(0);
    expect(value('memory_working_set_bytes')).toBeGreaterThan(0);
    expect(value('memory_rss')).toBeGreaterThanOrEqual(0);
    expect(value('spec_memory_limit_bytes')).toBe(0);
    expect(value('processes')).toBeGreaterThan(0);
    expect(value('start_time_seconds')).toBeGreaterThan(1_600_000_000);
    expect(value('fs_usage_bytes', ',device="[^"]+"')).toBeGreaterThanOrEqual(0);
    expect(text).toMatch(
      new RegExp(
        `^container_network_receive_bytes_total\\{.*pod="${web}",interface="eth0"\\} \\d+ \\d{13}$`,
        'm',
      ),
    );
    expect(text).toMatch(/^machine_memory_bytes \d+$/m);
  });

  test('counts', async () => {
    const { text } = await send('/metrics');
    expect(text).toContain('nodeagent_running_pods 1\n');
    expect(text).toContain('nodeagent_running_containers{container_state="running"} 1\n');
    const resource = (await send('/metrics/resource')).text;
    expect(resource).toMatch(
      /^container_memory_working_set_bytes\{container="main",namespace="default",pod="web-n1"\} \d+ \d+$/m,
    );
    for (const family of [
      'container_cpu_usage_seconds_total{',
      'container_start_time_seconds{',
      'pod_cpu_usage_seconds_total{',
      'pod_memory_working_set_bytes{',
      'node_cpu_usage_seconds_total ',
      'node_memory_working_set_bytes ',
    ]) {
      expect(resource).toContain(`\n${family}`);
    }
    expect(resource).toContain('scrape_error 0\n');
    expect((await send('/metrics/probes')).text).toMatch(
      /^prober_probe_total\{probe_type="Readiness",result="successful",container="main",pod="web-n1",namespace="default",pod_uid="[^"]+"\} [1-9]/m,
    );
  });

  test('serves the metrics that upstream’s metrics server needs, and CPU time as it is used', async () => {
    const before = parseSamples((await send('/metrics/resource')).text);
    for (const name of ['node_cpu_usage_seconds_total', 'node_memory_working_set_bytes']) {
      const [sample, ...more] = before.filter((each) => each.name === name);
      expect([sample?.labels, more]).toEqual([{}, []]);
      expect(sample?.atMs).toBeGreaterThan(0);
    }
    const ofMain = { container: 'main', namespace: 'default', pod: web };
    const main = (samples: readonly Sample[], name: string): Sample | undefined =>
      samples.find((sample) => sample.name === name && sample.labels['container'] === 'main');
    expect(main(before, 'container_memory_working_set_bytes')).toMatchObject({ labels: ofMain });
    expect(main(before, 'container_start_time_seconds')?.value).toBeLessThan(Date.now() / 1000);
    const name = 'container_cpu_usage_seconds_total';
    const first = main(before, name);
    expect(first).toMatchObject({ labels: ofMain });
    expect(first?.atMs).toBeGreaterThan(0);
    await send(`/run/default/${web}/main?cmd=${encodeURIComponent('seq 300000')}`, { method: 'POST' });
    // Readers compute a rate of both, so their timestamps must differ.
    const later = await eventually(async () => {
      const sample = main(parseSamples((await send('/metrics/resource')).text), name);
      // Another sample may have been taken between the two, before the work was done.
      return (sample?.value ?? 0) > (first?.value ?? 0) + 0.005 ? sample : undefined;
    });
    expect(later?.atMs).toBeGreaterThan(first?.atMs ?? 0);
  });

  test('gives a log', async () => {
    expect(await send(`/containerLogs/default/${web}/main`)).toMatchObject({ status: 200, text: 'hello\n' });
    expect(await send(`/containerLogs/default/${web}/other`)).toMatchObject({ status: 400 });
    expect(await send('/containerLogs/default/gone/main')).toEqual({
      status: 404,
      type: 'text/plain; charset=utf-8',
      text: 'pod "gone" does not exist\n',
    });
  });

  test('runs a command', async () => {
    const run = (cmd: string): Promise<HttpResponse> =>
      send(`/run/default/${web}/main?cmd=${encodeURIComponent(cmd)}`, { method: 'POST' });
    expect(await run('echo a b')).toMatchObject({ status: 200, text: 'a b\n' });
    expect(await run('ls /no/such')).toMatchObject({ status: 500 });
  });

  test('wants streams to be streams', async () => {
    const path = `/exec/default/${web}/main?output=1&command=true`;
    expect(await send(path)).toMatchObject({ status: 400, text: 'Upgrade request required\n' });
  });

  test('shows its configuration, its system’s logs, and where time goes', async () => {
    expect(JSON.parse((await send('/configz')).text)).toMatchObject({
      nodeagentconfig: { kind: 'NodeAgentConfiguration', port: node.port() },
    });
    expect(await send('/logs/')).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    expect((await send('/logs/../../etc/passwd')).status).toBe(400);
    expect((await send('/logs/%2e%2e/%2e%2e/etc/passwd')).status).toBe(400);
    expect((await send('/logs/no/such')).status).toBe(404);
    const profile = JSON.parse((await send('/debug/pprof/profile?seconds=1')).text) as { nodes: unknown };
    expect(profile.nodes).toBeInstanceOf(Array);
    expect(await send('/debug/flags/v', { method: 'PUT', body: '4' })).toMatchObject({
      status: 200,
      text: 'successfully set klog.logging.verbosity to 4',
    });
  });

  test('knows methods', async () => {
    expect((await send('/pods', { method: 'DELETE' })).status).toBe(405);
  });
});

describe('the port for everyone', () => {
  test.each(['/healthz', '/pods', '/stats/summary', '/metrics', '/metrics/resource', '/metrics/cadvisor'])(
    'reports %s',
    async (path) => {
      expect((await askOpen(path)).status).toBe(200);
    },
  );

  test.each(['/configz', '/logs/', '/runningpods/', '/containerLogs/default/web-n1/main', '/debug/pprof/'])(
    'keeps %s',
    async (path) => {
      expect((await askOpen(path)).status).toBe(404);
    },
  );
});
