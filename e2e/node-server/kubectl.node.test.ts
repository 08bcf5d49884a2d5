/** Upstream's command-line client, through the API server to the containers of a node. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ContainerState } from '#api/gen/core-v1.ts';
import { eventually } from '../../testing/wait.ts';
import { IMAGE, pod as manifest, sh, WAIT } from '../lifecycle/support.ts';
import type { Body } from '../plane/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { useNode } from './support.ts';

const node = useNode();
const kubectl = useKubectl(() => node.plane.server.platconfigFile);
const { ok, run } = kubectl;

/** The client's two transports: WebSocket, and SPDY as before. */
const WAYS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['WebSocket', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'true', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'true' }],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
];

function get(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve(text));
    })
      .once('error', reject)
      .end();
  });
}

let web: string;
let server: string;
beforeAll(async () => {
  server = await node.run('server', {
    hostNetwork: false,
    containers: [
      sh('main', `mkdir /w; echo served > /w/index.html; httpd -p 8080 -h /w; ${WAIT}`, {
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });
  web = await node.run('web', {
    containers: [
      sh('main', `echo one; echo two; ${WAIT}`),
      sh('talk', 'while read -r line; do echo "heard $line"; done', { stdin: true }),
      sh('side', `echo from the side; ${WAIT}`),
    ],
  });
  // A container runs for a moment before its first output.
  for (const [name, last] of [
    ['main', 'two'],
    ['side', 'from the side'],
  ] as const)
    await eventually(async () => (await ok(['logs', web, '-c', name])).endsWith(last), { timeoutMs: 20_000 });
});

describe('logs', () => {
  test('of a container', async () => {
    expect(await ok(['logs', web, '-c', 'side'])).toBe('from the side');
  });

  test('the last line', async () => {
    expect(await ok(['logs', web, '-c', 'main', '--tail=1'])).toBe('two');
  });

  test('with times', async () => {
    expect(await ok(['logs', web, '-c', 'main', '--timestamps'])).toMatch(/^\S+Z one\n\S+Z two$/);
  });

  test('as they come', async () => {
    await using following = kubectl.start(['logs', '-f', web, '-c', 'main']);
    expect([await following.line(), await following.line()]).toEqual(['one', 'two']);
  });

  test('of an instance that never was', async () => {
    const { code, err } = await run(['logs', web, '-c', 'side', '--previous']);
    expect([code, err]).toEqual([1, expect.stringContaining('previous terminated container')]);
  });
});

describe.each(WAYS)('by %s', (_way, env) => {
  test('a command prints to its own stdout and stderr', async () => {
    const words = ['exec', web, '-c', 'main', '--', 'sh', '-c', 'echo out; echo err >&2'];
    expect(await run(words, { env })).toEqual({ code: 0, out: 'out\n', err: 'err\n' });
  });

  test('its exit code is the client’s', async () => {
    const { code } = await run(['exec', web, '-c', 'main', '--', 'sh', '-c', 'exit 7'], { env });
    expect(code).toBe(7);
  });

  test('reads its input to the end', async () => {
    const input = 'x'.repeat(300_000);
    const words = ['exec', '-i', web, '-c', 'main', '--', 'sh', '-c', 'cat | wc -c'];
    expect(await ok(words, { env, input })).toBe('300000');
  });

  test('says much', async () => {
    const words = ['exec', web, '-c', 'main', '--', 'sh', '-c', 'head -c 3000000 /dev/zero | tr "\\0" x'];
    const { code, out } = await run(words, { env });
    expect([code, out.length]).toEqual([0, 3_000_000]);
  });

  test('files are copied there and back', async () => {
    const text = 'hello\n'.repeat(1000);
    await writeFile(`${kubectl.dir()}/a`, text);
    await ok(['cp', 'a', `${web}:/tmp/a`, '-c', 'side'], { env });
    await ok(['cp', `${web}:/tmp/a`, 'b', '-c', 'side'], { env });
    expect(await readFile(`${kubectl.dir()}/b`, 'utf8')).toBe(text);
  });

  test('attaches to the container’s own process', async () => {
    await using attached = kubectl.start(['attach', '-i', web, '-c', 'talk'], env);
    // The runtime may forward the first output separately.
    const saying = setInterval(() => attached.say('hello\n'), 1000);
    try {
      expect(await attached.line()).toBe('heard hello');
    } finally {
      clearInterval(saying);
    }
    attached.say('again\n');
    let line = await attached.line();
    while (line === 'heard hello') line = await attached.line();
    expect(line).toBe('heard again');
  });

  test('gives a command the terminal that the client has', async () => {
    const inside = `kubectl exec -it ${web} -c main -- sh -c "test -t 0 && echo a terminal; exit 9"`;
    const config = { KUBECONFIG: node.plane.server.platconfigFile };
    const ended = promisify(execFile)('script', ['-qec', inside, '/dev/null'], {
      env: { ...process.env, ...config, ...env },
    });
    await expect(ended).rejects.toMatchObject({
      code: 9,
      stdout: expect.stringContaining('a terminal') as string,
    });
  });

  test('forwards a port, many times over', async () => {
    await using forwarding = kubectl.start(['-v=4', 'port-forward', `pod/${server}`, ':8080'], env);
    const [, port = ''] = /:(\d+) ->/.exec(await forwarding.line()) ?? [];
    const results = await Promise.all([1, 2, 3].map(() => get(Number(port))));
    expect(results).toEqual(['served\n', 'served\n', 'served\n']);
    // It would fall back to the other transport if this one failed.
    expect(forwarding.errors()).not.toMatch(/fallback/i);
  });

  test('no command leads nowhere', async () => {
    const { code, err } = await run(['exec', web, '-c', 'main', '--', '/no/such'], { env });
    expect([code === 0, err]).toEqual([false, expect.stringContaining('no such file')]);
  });
});

describe('through the proxy', () => {
  test('a pod responds', async () => {
    expect(
      await ok(['get', '--raw', `/api/v1/namespaces/default/pods/${server}:8080/proxy/index.html`]),
    ).toBe('served');
  });

  test('the agent responds for its node', async () => {
    expect(await ok(['get', '--raw', '/api/v1/nodes/n1/proxy/healthz'])).toBe('ok');
    const pods = JSON.parse(await ok(['get', '--raw', '/api/v1/nodes/n1/proxy/pods'])) as Body;
    expect(new Set(pods.items.map(({ metadata }) => metadata.name))).toEqual(new Set([server, web]));
  });
});

/** Whether the runtime was asked to start it, so that its pod has a sandbox. */
const hasFailedToStart = (state: ContainerState | undefined): boolean =>
  state?.terminated !== undefined || /Error|BackOff/.test(state?.waiting?.reason ?? '');

describe('what the agent refuses', () => {
  /** Its program is not there, so its only container never runs. */
  let broken: string;
  beforeAll(async () => {
    const container = { name: 'main', image: IMAGE, command: ['/no/such'] };
    await node.agent().put('broken.json', manifest('broken', { containers: [container] }));
    const found = await node
      .agent()
      .waitFor('broken', ({ status }) => hasFailedToStart(status?.containerStatuses?.[0]?.state));
    broken = found.metadata?.name ?? '';
    const path = '/api/v1/namespaces/default/pods';
    await node.plane.post(path, { metadata: { name: broken }, spec: { ...found.spec, nodeName: 'n1' } });
    await node.plane.patch(`${path}/${broken}/status`, { status: { phase: 'Running' } });
  });

  describe.each(WAYS)('is printed as it is, by %s', (_way, env) => {
    test.each<[string, readonly string[]]>([
      ['a command', ['exec', 'NAME', '-c', 'main', '--', 'true']],
      ['a command with input', ['exec', 'NAME', '-c', 'main', '-i', '--', 'cat']],
      ['its own process', ['attach', 'NAME', '-c', 'main']],
    ])('%s', async (_, words) => {
      const { code, err } = await run(
        words.map((word) => (word === 'NAME' ? broken : word)),
        { env },
      );
      const last = err.trimEnd().split('\n').at(-1);
      expect([code, last]).toEqual([1, 'error: unable to upgrade connection: container main is not running']);
    });

    test('a port', async () => {
      await using forwarding = kubectl.start(['port-forward', `pod/${broken}`, ':8080'], env);
      const [, port = ''] = /:(\d+) ->/.exec(await forwarding.line().catch(() => '')) ?? [];
      if (port !== '') await get(Number(port)).catch(() => undefined);
      await eventually(() => forwarding.errors() !== '');
      // The runtime's own words, with nothing of a form for programs around them.
      expect(forwarding.errors()).toContain('connection refused');
      expect(forwarding.errors()).not.toMatch(/<html|"kind"|InternalError|<nil>|unable to decode/);
    });
  });
});
