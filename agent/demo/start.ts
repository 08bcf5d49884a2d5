/** `npm start`: starts runtime, images and agent, shows the pods live, then prints a guide. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLocalApi } from '../cli/client/api-client.ts';
import { fetchPods, fetchProblems } from '../cli/client/responses.ts';
import { formatProblems } from '../cli/views/problem-lines.ts';
import { AgentEndedError, agentLogEnd, findAgent, spawnAgent, stopAgent } from './agent-process.ts';
import { renderGuide } from './guide.ts';
import type { DemoLayout } from './layout.ts';
import type { DemoRuntime } from './options.ts';
import { createProgress, type ProgressOutput } from './progress.ts';
import { writeRecord } from './record.ts';
import { type DemoRuntimeHandle, openRuntime } from './runtime.ts';
import { watchPods } from './watch.ts';

export interface StartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly output: ProgressOutput;
}

export interface StartOptions {
  readonly layout: DemoLayout;
  readonly repository: string;
  readonly workingDir: string;
  readonly runtime: DemoRuntime;
  readonly detach: boolean;
  /** Whether the commands of the guide need `sudo`. */
  readonly sudo: boolean;
}

/** Maximum time for the pods to start before the demo stops waiting, in ms. */
const SETTLE_TIMEOUT_MS = 120_000;

/** Runs until the agent exits or `signal` fires, which stops the agent; with `detach` until the pods are
 *  running.
 *  @throws AgentEndedError and errors of opening the runtime */
export async function startDemo(deps: StartDeps, options: StartOptions, signal: AbortSignal): Promise<void> {
  const { layout } = options;
  const say = (text: string): void => deps.output.write(`${text}\n`);
  await mkdir(layout.root, { recursive: true, mode: 0o711 });
  const runtime = await openRuntime(options.runtime, layout, { log: deps.log, say });
  try {
    await writeRecord(layout.record, runtime.external);
    const agent = await ensureAgent(options, runtime, say);
    await follow(deps, options, agent, signal);
    if (agent.own && signal.aborted) await endAgent(deps, layout);
  } finally {
    runtime.release();
  }
}

/** Shows the pods, then waits for the end of the agent or of the demo. */
async function follow(
  deps: StartDeps,
  options: StartOptions,
  agent: RunningAgent,
  signal: AbortSignal,
): Promise<void> {
  const anyEnd = AbortSignal.any([signal, agent.ended]);
  await showPods(deps, options, anyEnd, agent.own);
  if (agent.own && !options.detach) await untilAborted(anyEnd);
  if (agent.ended.aborted && !signal.aborted) {
    throw new AgentEndedError(options.layout.agentLog, await agentLogEnd(options.layout));
  }
}

interface RunningAgent {
  /** Whether this run started the agent. */
  readonly own: boolean;
  /** Fires when the agent exits, if that can be observed. */
  readonly ended: AbortSignal;
}

async function ensureAgent(
  options: StartOptions,
  runtime: DemoRuntimeHandle,
  say: (text: string) => void,
): Promise<RunningAgent> {
  const { layout, repository } = options;
  const running = await findAgent(layout);
  if (running !== undefined) {
    say(`the agent is already running, process ${running}`);
    return { own: false, ended: new AbortController().signal };
  }
  const manifests = join(repository, 'examples', 'manifests');
  const child = await spawnAgent({
    layout,
    repository,
    manifests,
    // The demo must also work on a nearly full disk, and must not delete the images of the machine.
    extra: [
      ...runtime.flags,
      '--healthz-port=0',
      `--cgroup-root=/${layout.name}`,
      // Most machines on which the demo is tried have swap.
      '--fail-swap-on=false',
      '--make-iptables-util-chains=false',
      '--eviction-hard=',
      '--image-gc-high-threshold=100',
    ],
  });
  say(`agent started, process ${child.pid}; manifests are read from ${manifests}\n`);
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  return { own: true, ended: ended.signal };
}

/** Shows the pods until they are running, then the guide. */
async function showPods(
  deps: StartDeps,
  options: StartOptions,
  signal: AbortSignal,
  own: boolean,
): Promise<void> {
  const { layout, repository, workingDir } = options;
  const progress = createProgress(deps.output);
  const api = createLocalApi(layout.agentSocket);
  try {
    const result = await watchPods(
      {
        clock: deps.clock,
        fetchPods: () => fetchPods(api),
        show: (lines) => progress.show(lines),
      },
      SETTLE_TIMEOUT_MS,
      signal,
    );
    progress.finish();
    const seconds = SETTLE_TIMEOUT_MS / 1000;
    const summary = result.allSettled
      ? `All ${result.lines.length} pods are running.`
      : `Not all pods are running after ${seconds} s; check with the commands below.`;
    const guide = renderGuide({
      repository,
      workingDir,
      manifests: join(repository, 'examples', 'manifests'),
      agentLog: layout.agentLog,
      lines: result.lines,
      foreground: own && !options.detach,
      sudo: options.sudo,
    });
    const problems = formatProblems(await fetchProblems(api));
    deps.output.write(`\n${summary}\n${problems}\n${guide}\n`);
  } catch (thrown) {
    // The caller reports the exit of the agent and Ctrl-C.
    if (!signal.aborted) throw thrown;
  }
}

async function endAgent(deps: StartDeps, layout: DemoLayout): Promise<void> {
  await stopAgent(deps.clock, layout);
  deps.output.write(
    '\nAgent stopped. The pods keep running; npm start adopts them, npm start -- --stop removes them.\n',
  );
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
