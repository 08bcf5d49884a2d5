import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../../testing/agent.ts';
import { CLI, type Ended, runCli, startCli } from '../../../testing/cli.ts';
import { eventually } from '../../../testing/wait.ts';

const IMAGE = '--image=local/busybox:1';
let agent: TestAgent;

const run = (args: readonly string[], input?: string): Promise<Ended> => runCli(agent, args, input);

interface Screen extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Types the text once the screen matches. */
  type(after: RegExp, text: string): Promise<void>;
  /** Presses Enter until a prompt appears, once the screen matches. */
  enter(after: RegExp): Promise<void>;
  shows(text: RegExp): Promise<string>;
}

/** Runs the commands in a terminal of their own. */
function openScreen(commands: string): Screen {
  const child = spawn('script', ['-qec', `stty -echo; ${commands}`, '/dev/null'], {
    env: { ...process.env, NODEAGENT_SOCKET: agent.socket },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const shows = (wanted: RegExp): Promise<string> =>
    eventually(() => (wanted.test(text) ? text : Promise.reject(new Error(`seen: ${text}`))), {
      timeoutMs: 20_000,
      what: `screen shows ${String(wanted)}`,
    });
  return {
    child,
    shows,
    async type(after, keys) {
      await shows(after);
      child.stdin.write(keys);
    },
    async enter(after) {
      const { length } = await shows(after);
      const hasPrompt = (): boolean => {
        if (text.includes('# ', length)) return true;
        child.stdin.write('\r');
        return false;
      };
      await eventually(hasPrompt, { timeoutMs: 20_000, intervalMs: 500, what: 'a prompt' });
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}

const SCRIPT = 'trap "exit 0" TERM; while :; do echo tick; sleep 0.3; done';

beforeAll(async () => {
  agent = await TestAgent.create({ endpoint: inject('criEndpoint') });
  const containers = [{ name: 'main', image: 'local/busybox:1', command: ['sh', '-c', SCRIPT] }];
  const spec = { hostNetwork: true, terminationGracePeriodSeconds: 1, containers };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  await agent.put('web.json', JSON.stringify(manifest));
  await agent.waitFor('web', isReady);
});

afterAll(() => agent[Symbol.asyncDispose]());

describe('debug', () => {
  test('adds a container, prints how to read its output, and describe shows it', async () => {
    const added = await run(['debug', 'web', IMAGE, '--name=seer', '--', 'sh', '-c', 'echo seen']);
    const where = 'nodeagent logs web-n1 -c seer';
    expect(added).toEqual({
      code: 0,
      out: `container seer started; to see its output: ${where}\n`,
      err: '',
    });
    const logs = await eventually(async () => {
      const { out } = await run(['logs', 'web', '-c', 'seer']);
      return out === '' ? undefined : out;
    });
    expect(logs).toBe('seen\n');
    const { out } = await run(['describe', 'web']);
    expect(out).toMatch(/^Ephemeral containers:\n {2}seer:\n/m);
    expect((await run(['logs', 'web', '--all-containers', '--prefix'])).out).toContain('[web-n1/seer] seen');
  });

  test('forwards input and exits with the exit code of the container', async () => {
    // Select the first process: a freshly forked child still has the same command line.
    const script = 'cat; ps | grep -c "^ *1 .*[e]cho tick"; exit 7';
    const args = ['debug', '-i', 'web', IMAGE, '--target=main', '--name=piped', '--', 'sh', '-c', script];
    expect(await run(args, 'some\nwords\n')).toEqual({ code: 7, out: 'some\nwords\n1\n', err: '' });
  });

  test('allocates a terminal that can be detached and attached again', async () => {
    const node = `${process.execPath} ${CLI}`;
    const debug = `${node} debug -it web ${IMAGE} --name=shell -- sh`;
    await using screen = openScreen(
      `${debug}; echo left $?; ${node} attach -it web -c shell; echo end $?; stty -a`,
    );
    await screen.enter(/Ctrl-\] to detach/);
    await screen.type(/# /, 'v=kept; echo first-$v\r');
    await screen.type(/first-kept\r\n/, '\u001d');
    await screen.enter(/left 0\r\n[^]*Ctrl-\] to detach/);
    await screen.type(/# /, 'echo again-$v; exit 4\r');
    const text = await screen.shows(/end \d+\r\n[^]*icanon/);
    expect(text).toContain('again-kept\r\n');
    expect(text).toContain('container shell keeps running; use nodeagent attach to return to it');
    expect(text).toMatch(/ icanon /);
    const ended = await agent.waitFor(
      'web',
      ({ status }) =>
        status?.ephemeralContainerStatuses?.find(({ name }) => name === 'shell')?.state?.terminated !==
        undefined,
    );
    expect(
      ended.status?.ephemeralContainerStatuses?.find(({ name }) => name === 'shell')?.state?.terminated
        ?.exitCode,
    ).toBe(4);
  });

  test('reports why a container does not start or is rejected', async () => {
    const bad = await run(['debug', 'web', '--image=local/UPPER', '--name=bad']);
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(
      /^nodeagent: container bad has not started, the agent keeps retrying: InvalidImageName/,
    );
    const taken = await run(['debug', 'web', IMAGE, '--name=main', '--target=none']);
    expect(taken.code).toBe(1);
    expect(taken.err).toMatch(/\.name: Duplicate value: "main"/);
    expect(taken.err).toMatch(/\.targetContainerName: Not found: "none"/);
  });
});

describe('attach', () => {
  test('shows the output of the container from now on', async () => {
    const child = startCli(agent, ['attach', 'web']);
    await once(child.stdout ?? child, 'data');
    child.kill('SIGINT');
    const { code, out } = await child.ended;
    expect(code).toBe(130);
    expect(out).toMatch(/^(tick\n)+$/);
    expect((await agent.waitFor('web', isReady)).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test('reports options missing in the spec of the container', async () => {
    expect(await run(['attach', '-i', 'web'], 'x')).toMatchObject({
      code: 1,
      err: 'nodeagent: container main was created without stdin: true in its spec\n',
    });
  });
});
