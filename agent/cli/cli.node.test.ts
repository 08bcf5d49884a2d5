import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { CLI, type CliProcess, type Ended, runCli, startCli } from '../../testing/cli.ts';
import { eventually } from '../../testing/wait.ts';

const WAIT = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

let agent: TestAgent;

const start = (args: readonly string[]): CliProcess => startCli(agent, args);
const run = (args: readonly string[], input?: string | Uint8Array): Promise<Ended> =>
  runCli(agent, args, input);

async function rejectedManifests(): Promise<readonly unknown[]> {
  return ((await agent.get('/manifests/problems')) as { rejected: readonly unknown[] }).rejected;
}

const podText = (name: string, script: string, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'local/busybox:1', command: ['sh', '-c', script] }],
      ...more,
    },
  });

beforeAll(async () => {
  agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    program: [CLI, 'run'],
    // A port that no test machine reaches.
    flags: ['--eviction-hard=memory.available<1Mi'],
  });
  await agent.put('web.json', podText('web', `for i in 1 2 3; do echo line $i; done; ${WAIT}`));
  await agent.put(
    'bad.yaml',
    'apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: X}]}\n',
  );
  await agent.waitFor('web', isReady);
  // An invalid file may be half written: it is rejected only if it does not change.
  await eventually(async () => (await rejectedManifests()).length > 0, { what: 'the rejection of bad' });
});

afterAll(() => agent[Symbol.asyncDispose]());

describe('ps and get', () => {
  test('lists the pods, followed by rejected manifests', async () => {
    const { code, out } = await run(['ps']);
    expect(code).toBe(0);
    expect(out).toMatch(/^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE +IP +SOURCE$/m);
    expect(out).toMatch(/^default +web-n1 +1\/1 +Running +0 +\d+s +\S+ +file$/m);
    expect(out).toMatch(/^rejected: Pod default\/bad in .*\/bad\.yaml, document 1$/m);
    expect(out).toMatch(/^ {2}spec\.containers\[0\]\.image: Required value/m);
  });

  test('shows usage as plain text without a terminal', async () => {
    const { code, out } = await run(['top', '--containers']);
    expect(code).toBe(0);
    expect(out).toMatch(/^node n1 +up /m);
    expect(out).toMatch(/^cpu +\[[#-]+\] +\d+% +\d+m of \d+m$/m);
    expect(out).toMatch(/^memory +\[[#!-]+\] +\d+% +\S+ of \S+ +evicts below 1Mi of memory\.available$/m);
    expect(out).toMatch(/^default +web-n1 +\d+m +\S+Ki +\S+/m);
    expect(out).toMatch(/^ +main +\d+m +\S+Ki/m);
    expect(out).not.toContain('\u001B');
    expect((await run(['top', '--sort=x'])).code).not.toBe(0);
  });

  test('refreshes usage in a terminal, and restores it', async () => {
    const inner = `stty rows 40 cols 120; exec '${process.execPath}' '${CLI}' top --interval 1s`;
    const child = spawn('script', ['-qec', inner, '/dev/null'], {
      env: { ...process.env, NODEAGENT_SOCKET: agent.socket },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    const screens = (): number => seen.split('\u001B[H').length - 1;
    await eventually(() => screens() >= 2, { what: 'two screens' });
    // The last log lines may arrive after the container has ended.
    const ended = once(child, 'close');
    child.stdin.write('\u0003');
    await ended;
    expect(seen).toMatch(/node n1 +up /);
    expect(seen.startsWith('\u001B[?25l')).toBe(true);
    expect(seen.trimEnd()).toContain('\u001B[?25h');
  });

  test('shows a complete pod', async () => {
    const { code, out } = await run(['get', 'pod', 'web', '-o', 'yaml']);
    expect(code).toBe(0);
    expect(out).toMatch(/^kind: Pod$/m);
    expect(out).toMatch(/^ {2}phase: Running$/m);
  });

  test('prints chosen fields of selected objects', async () => {
    const names = `{range .items[*]}{.metadata.name}={.status.phase}{"\\n"}{end}`;
    expect(
      await run(['get', 'pods', '--field-selector', 'status.phase=Running', '-o', `jsonpath=${names}`]),
    ).toEqual({ code: 0, out: 'web-n1=Running\n', err: '' });
    const columns = 'custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image';
    expect((await run(['get', 'pod', 'web', '--no-headers', '-o', columns])).out).toBe(
      'web-n1   local/busybox:1\n',
    );
    expect((await run(['ps', '-l', 'no=such', '--no-headers'])).out).toMatch(/^no pods\n/);
    expect(JSON.parse((await run(['get', 'pods,events', '-o', 'json'])).out)).toMatchObject({ kind: 'List' });
    expect((await run(['get', 'pods,events'])).out).toMatch(
      /^default +pod\/web-n1 .*\n(?:.*\n)*\nLAST SEEN/m,
    );
    expect((await run(['top', '-o', 'jsonpath={.node.nodeName}'])).out).toBe('n1');
    expect((await run(['version', '-o', 'jsonpath={.agent.reachable}'])).out).toBe('true');
    expect((await run(['events', '--field-selector', 'reason=Started', '-o', 'name'])).out).toMatch(
      /^event\//,
    );
  });

  test('watches one pod in a format for programs', async () => {
    const child = start(['get', 'pod', 'web', '-w', '-o', 'name']);
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await eventually(() => seen === 'pod/web-n1\n', { what: 'the name of the pod' });
    child.kill('SIGTERM');
    expect((await child.ended).code).toBe(143);
  });

  test('describes a pod with its events', async () => {
    const { out } = await run(['describe', 'pod', 'web']);
    expect(out).toMatch(/State: +running, started at/);
    expect(out).toMatch(/Normal +Started +Started container main/);
  });

  test('exits with 1 and suggests a pod for a missing one', async () => {
    expect(await run(['get', 'pod', 'wab'])).toMatchObject({
      code: 1,
      out: '',
      err: 'nodeagent: pod "wab" not found in namespace default; did you mean web?\n',
    });
  });
});

describe('logs', () => {
  test('prints the log of the container, or the end of it', async () => {
    expect((await run(['logs', 'web'])).out).toBe('line 1\nline 2\nline 3\n');
    expect((await run(['logs', 'web', '--tail', '1'])).out).toBe('line 3\n');
    expect((await run(['logs', 'web', '--all-containers', '--prefix', '--tail=1'])).out).toBe(
      '[web-n1/main] line 3\n',
    );
  });

  test('lists the containers', async () => {
    const { code, err } = await run(['logs', 'web', '-c', 'other']);
    expect(code).toBe(1);
    expect(err).toMatch(/container "other" is not in this pod, which has: main/);
  });

  test('follows until it is interrupted, and exits with the code of the signal', async () => {
    const child = start(['logs', '-f', '--tail', '1', 'web']);
    await once(child.stdout ?? child, 'data');
    child.kill('SIGINT');
    expect(await child.ended).toMatchObject({ code: 130, err: '' });
  });
});

describe('exec', () => {
  test('exits with the exit code of the command and separates its outputs', async () => {
    const result = await run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(result).toEqual({ code: 7, out: 'out\n', err: 'err\n' });
  });

  test('forwards standard input up to its end', async () => {
    const input = 'x'.repeat(200_000);
    const result = await run(['exec', '-i', 'web', '--', 'wc', '-c'], input);
    expect(result).toMatchObject({ code: 0, out: '200000\n' });
  });

  test('does not read standard input by default', async () => {
    expect(await run(['exec', 'web', '--', 'cat'], 'text')).toMatchObject({ code: 0, out: '' });
  });

  test('allocates a terminal of the local size, and restores the local one', async () => {
    // The terminal size arrives on its own stream, shortly after the command has started.
    const sized = 'until stty size 2>&1 | grep -q "^[1-9]"; do sleep 0.1; done; stty size; exit 5';
    const command = `exec -it web -- sh -c '${sized}'`;
    const inner = `stty rows 33 cols 101; ${process.execPath} ${CLI} ${command}; echo code $?; stty -a`;
    const child = spawn('script', ['-qec', inner, '/dev/null'], {
      env: { ...process.env, NODEAGENT_SOCKET: agent.socket },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    // The end of its input would close the terminal.
    const out = await readAll(child.stdout);
    child.stdin.end();
    expect(out).toMatch(/^33 101\r\ncode 5\r\n/);
    expect(out).toMatch(/ icanon /);
    expect(out).toMatch(/ echo /);
  });

  test('reports why a command cannot be run', async () => {
    const { code, err } = await run(['exec', 'web', '--', 'no-such-program']);
    expect([code, err]).toEqual([127, 'nodeagent: no-such-program: executable not found in the container\n']);
    expect((await run(['exec', 'web', '--', '/etc'])).code).toBe(126);
    expect((await run(['exec', 'web', '--', '/no/such'])).code).toBe(127);
  });
});

describe('apply and delete', () => {
  test('runs a pod, reports every document, and deletes it again', async () => {
    const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {a: b}\n';
    await writeFile(join(agent.folder, 'hand.yaml'), `${podText('hand', WAIT)}\n---\n${config}`);
    expect(await run(['apply', '-f', 'hand.yaml'])).toEqual({
      code: 0,
      out: 'pod/hand created\nconfigmap/cm created\n',
      err: '',
    });
    await agent.waitFor('hand', isReady);
    expect((await run(['get', 'cm'])).out).toMatch(/^default +cm +a$/m);
    expect((await run(['apply', '-f', 'hand.yaml'])).out).toBe(
      'pod/hand unchanged\nconfigmap/cm unchanged\n',
    );
    expect(await run(['delete', '-f', 'hand.yaml', '--wait'])).toMatchObject({
      code: 0,
      out: 'pod/hand deleted\nconfigmap/cm deleted\n',
    });
    expect(await agent.pod('hand')).toBeUndefined();
  });

  test('reports every error with file, document, field and value, and applies the valid documents', async () => {
    const bad = podText('faulty', WAIT, { restartPolicy: 'Sometimes', hostPort: 1 });
    const config = '{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}';
    const { code, out, err } = await run(['apply', '-f', '-'], `${bad}\n---\n${config}\n`);
    expect(code).toBe(1);
    expect(out).toBe('configmap/good created\n');
    expect(err).toMatch(/^standard input, document 1: Pod default\/faulty rejected$/m);
    expect(err).toMatch(/^ {2}spec\.restartPolicy: Unsupported value: "Sometimes"/m);
    expect(err).toMatch(/^ {2}spec\.hostPort: Unknown field/m);
    expect((await run(['delete', 'configmap', 'good'])).code).toBe(0);
  });

  test('reports that a pod of a file cannot be deleted here', async () => {
    const { code, err } = await run(['delete', 'pod', 'web']);
    expect(code).toBe(1);
    expect(err).toMatch(/^pod\/web: it comes from .*web.*, not from apply: remove it there/);
  });

  test('reports a missing file, or an empty directory', async () => {
    await mkdir(join(agent.folder, 'empty'), { recursive: true });
    expect((await run(['apply', '-f', 'none.yaml'])).err).toMatch(/cannot read none\.yaml: ENOENT/);
    expect((await run(['apply', '-f', 'empty'])).err).toMatch(/empty contains no \*\.yaml/);
  });
});

describe('watching', () => {
  test('prints pods and events as they change', async () => {
    const pods = start(['ps', '-w']);
    const events = start(['events', '-w', '--for', 'short']);
    const seen = { pods: '', events: '' };
    pods.stdout?.on('data', (chunk: Buffer) => {
      seen.pods += chunk.toString();
    });
    events.stdout?.on('data', (chunk: Buffer) => {
      seen.events += chunk.toString();
    });
    await eventually(() => seen.pods.includes('web-n1') && seen.events.includes('LAST SEEN'));
    await run(['apply', '-f', '-'], podText('short', WAIT));
    await eventually(() => /default +short +1\/1 +Running/.test(seen.pods), { timeoutMs: 20_000 });
    await run(['delete', 'pod/short', '--now', '--wait']);
    await eventually(() => /default +short +\S+ +Deleted/.test(seen.pods), { what: 'the end of the pod' });
    await eventually(() => /Killing +Pod\/short/.test(seen.events), { what: 'the event' });
    expect(seen.pods).toMatch(/default +short +\S+ +Terminating/);
    expect(seen.events).not.toContain('web-n1');
    for (const child of [pods, events]) child.kill('SIGTERM');
    expect(await Promise.all([pods.ended, events.ended])).toMatchObject([{ code: 143 }, { code: 143 }]);
  });
});

describe('config and version', () => {
  test('shows the settings of the running agent and their origins', async () => {
    const { code, out } = await run(['config', '--changed']);
    expect(code).toBe(0);
    expect(out).toMatch(/^hostnameOverride +n1 +--hostname-override$/m);
    expect(out).not.toMatch(/^maxPods /m);
  });

  test('shows the result of other flags, and rejects invalid ones', async () => {
    const good = await run(['config', '--max-pods', '7', '--changed']);
    expect(good).toMatchObject({ code: 0 });
    expect(good.out).toMatch(/^maxPods +7 +--max-pods$/m);
    expect(await run(['config', '--max-pods', 'many'])).toMatchObject({ code: 1, out: '' });
  });

  test('shows the versions of agent and runtime', async () => {
    expect((await run(['version'])).out).toMatch(/^agent +\d+\.\d+\.\d+$/m);
  });

  test('reports every error of the agent flags at once and exits with 1', async () => {
    const { code, err } = await run(['run', '--max-pods=many', '--no-such-flag']);
    expect(code).toBe(1);
    expect(err).toMatch(/^nodeagent: --max-pods: /m);
    expect(err).toMatch(/^nodeagent: --no-such-flag: /m);
  });

  test('explains the agent flags and the commands', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}exec +run a command in a container$/m);
    expect(out.split('\n').length).toBeLessThan(55);
    expect((await run(['run', '--help'])).out).toMatch(/--max-pods/);
  });
});
