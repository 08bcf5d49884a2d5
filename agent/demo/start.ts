/** `npm start`: runtime, images, agent, the pods live, then how to go on. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { fetchPods, fetchProblems } from '../cli/answers.ts';
import { createLocalApi } from '../cli/api-client.ts';
import { formatProblems } from '../cli/problem-lines.ts';
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
  /** Whether the user has to become root for the commands that the guide names. */
  readonly sudo: boolean;
}

/** How long the pods may take to come up before the demo stops waiting, in ms. */
const SETTLE_TIMEOUT_MS = 120_000;

/** Runs until the agent ends or `signal` fires, which ends the agent; with `detach` until the pods are up.
 *  @throws AgentEndedError and what opening the runtime throws */
export async function startDemo(deps: StartDeps, options: StartOptions, signal: AbortSignal): Promise<void> {
  const { layout } = options;
  const say = (text: string): void => deps.output.write(`${text}\n`);
  await mkdir(layout.root, { recursive: true, mode: 0o711 });
  const runtime = await openRuntime(options.runtime, layout, { log: deps.log, say });
  try {
    await writeRecord(layout.record, runtime.managed ? undefined : runtime.endpoint);
    const agent = await ensureAgent(options, runtime, say);
    await follow(deps, options, agent, signal);
    if (agent.own && signal.aborted) await endAgent(deps, layout);
  } finally {
    runtime.release();
  }
}

/** Shows the pods and then waits for the end of the agent or of the demo. */
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
  /** Whether this start started it. */
  readonly own: boolean;
  /** Fires when it ends, as far as that is known. */
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
    say(`the agent runs already, process ${running}`);
    return { own: false, ended: new AbortController().signal };
  }
  const manifests = join(repository, 'examples', 'manifests');
  const child = await spawnAgent({
    layout,
    repository,
    manifests,
    endpoint: runtime.endpoint,
    // A machine whose disk is nearly full is to show the demo all the same, and to keep its images.
    extra: [
      '--healthz-port=0',
      `--cgroup-root=/${layout.name}`,
      // A machine to try it on mostly has swap.
      '--fail-swap-on=false',
      '--eviction-hard=',
      '--image-gc-high-threshold=100',
    ],
  });
  say(`agent started, process ${child.pid}; pods come from ${manifests}\n`);
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  return { own: true, ended: ended.signal };
}

/** Shows the pods until they are up, then the guide. */
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
      ? `All ${result.lines.length} pods are up.`
      : `Not all pods came up within ${seconds} s; ask with the commands below.`;
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
    // The end of the agent, and Ctrl-C, are told by the caller.
    if (!signal.aborted) throw thrown;
  }
}

async function endAgent(deps: StartDeps, layout: DemoLayout): Promise<void> {
  await stopAgent(deps.clock, layout);
  deps.output.write(
    '\nAgent stopped. The pods run on; npm start takes them over, npm start -- --stop removes them.\n',
  );
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
