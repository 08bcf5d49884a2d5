/** The agent's server as its own clients meet it: who gets in, and what it tells. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { beforeAll, describe, expect, test } from 'vitest';
import type { PodList } from '#api/schema/gen/core-v1.ts';
import type { Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useNode } from './support.ts';

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const node = useNode();

/** With the administrator's certificate unless told otherwise. */
function ask(path: string, options: { method?: string; stranger?: boolean } = {}): Promise<Answer> {
  const { cert, key } = node.plane.server.credentials();
  const proof = options.stranger === true ? {} : { cert, key };
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
      .end();
  });
}

function askOpen(path: string): Promise<Answer> {
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

let web: string;
beforeAll(async () => {
  const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
  web = await node.run('web', { containers: [sh('main', `echo hello; ${WAIT}`, { readinessProbe })] });
});

describe('the server', () => {
  test.each(['/healthz', '/pods', '/exec/default/x/y', '/no/such'])(
    'lets nobody in who shows nothing (%s)',
    async (path) => {
      const answer = await ask(path, { stranger: true });
      expect([answer.status, answer.text]).toEqual([401, 'Unauthorized\n']);
    },
  );

  test('says that it is well', async () => {
    expect(await ask('/healthz')).toEqual({ status: 200, type: 'text/plain; charset=utf-8', text: 'ok' });
  });

  test('tells its pods', async () => {
    const { items } = JSON.parse((await ask('/pods')).text) as PodList;
    expect(items.map(({ metadata, status }) => [metadata?.name, status?.phase])).toEqual([[web, 'Running']]);
    const running = JSON.parse((await ask('/runningpods/')).text) as PodList;
    expect(running.items).toMatchObject([
      { metadata: { name: web }, spec: { containers: [{ name: 'main' }] } },
    ]);
  });

  test('tells what is used', async () => {
    const { node: machine, pods } = JSON.parse((await ask('/stats/summary')).text) as Summary;
    expect(machine.nodeName).toBe('n1');
    expect(machine.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect(machine.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(machine.fs?.capacityBytes).toBeGreaterThan(0);
    expect(machine.runtime?.imageFs?.capacityBytes).toBeGreaterThan(0);
    expect(pods).toMatchObject([{ podRef: { name: web }, containers: [{ name: 'main' }] }]);
    expect(pods[0]?.containers[0]?.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    const short = JSON.parse((await ask('/stats/summary?only_cpu_and_memory=true')).text) as Summary;
    expect(Object.keys(short.node)).toEqual(['nodeName', 'startTime', 'cpu', 'memory']);
  });

  test('counts', async () => {
    const { text } = await ask('/metrics');
    expect(text).toContain('nodeagent_running_pods 1\n');
    expect(text).toContain('nodeagent_running_containers{container_state="running"} 1\n');
    const resource = (await ask('/metrics/resource')).text;
    expect(resource).toMatch(
      /^container_memory_working_set_bytes\{container="main",namespace="default",pod="web-n1"\} \d+ \d+$/m,
    );
    expect(resource).toContain('scrape_error 0\n');
    expect((await ask('/metrics/probes')).text).toMatch(
      /^prober_probe_total\{probe_type="Readiness",result="successful",container="main",pod="web-n1",namespace="default",pod_uid="[^"]+"\} [1-9]/m,
    );
  });

  test('gives a log', async () => {
    expect(await ask(`/containerLogs/default/${web}/main`)).toMatchObject({ status: 200, text: 'hello\n' });
    expect(await ask(`/containerLogs/default/${web}/other`)).toMatchObject({ status: 400 });
    expect(await ask('/containerLogs/default/gone/main')).toEqual({
      status: 404,
      type: 'text/plain; charset=utf-8',
      text: 'pod "gone" does not exist\n',
    });
  });

  test('runs a command', async () => {
    const run = (cmd: string): Promise<Answer> =>
      ask(`/run/default/${web}/main?cmd=${encodeURIComponent(cmd)}`, { method: 'POST' });
    expect(await run('echo a b')).toMatchObject({ status: 200, text: 'a b\n' });
    expect(await run('ls /no/such')).toMatchObject({ status: 500 });
  });

  test('wants streams to be streams', async () => {
    const path = `/exec/default/${web}/main?output=1&command=true`;
    expect(await ask(path)).toMatchObject({ status: 400, text: 'Upgrade request required\n' });
  });

  test('shows its configuration, its system’s logs, and where time goes', async () => {
    expect(JSON.parse((await ask('/configz')).text)).toMatchObject({
      nodeagentconfig: { kind: 'NodeAgentConfiguration', port: node.port() },
    });
    expect(await ask('/logs/')).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    expect((await ask('/logs/../../etc/passwd')).status).toBe(400);
    expect((await ask('/logs/%2e%2e/%2e%2e/etc/passwd')).status).toBe(400);
    expect((await ask('/logs/no/such')).status).toBe(404);
    const profile = JSON.parse((await ask('/debug/pprof/profile?seconds=1')).text) as { nodes: unknown };
    expect(profile.nodes).toBeInstanceOf(Array);
  });

  test('knows methods', async () => {
    expect((await ask('/pods', { method: 'DELETE' })).status).toBe(405);
  });
});

describe('the port for everyone', () => {
  test.each(['/healthz', '/pods', '/stats/summary', '/metrics', '/metrics/resource'])(
    'tells %s',
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
