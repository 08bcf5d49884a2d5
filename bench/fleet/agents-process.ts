/** Process of hollow agents. Started by `agents.ts`, to which it reports how many of them work. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import containerdTable from '#cri/data/containerd-events.json' with { type: 'json' };
import criV1 from '#cri/data/cri-v1.json' with { type: 'json' };
import { runHollowAgent } from './hollow-agent.ts';
import type { AgentsOptions, FromAgents, ToAgents } from './messages.ts';

const report = (message: FromAgents): void => void process.send?.(message);

/** Creates a logger of errors that writes to a file, since no other output of the process is read. */
function createErrorLog(path: string, fields: object = {}): Logger {
  const write =
    (level: string) =>
    (more: object, message: string): void => {
      const err = 'err' in more ? { err: asError(more.err).stack } : {};
      appendFileSync(path, `${JSON.stringify({ level, ...fields, ...more, ...err, message })}\n`);
    };
  const nothing = (): void => undefined;
  return {
    error: write('error'),
    warn: write('warn'),
    info: nothing,
    debug: nothing,
    trace: nothing,
    child: (more) => createErrorLog(path, { ...fields, ...more }),
  };
}

async function run(
  { names, dir, bootstrapConfig, perSecond }: AgentsOptions,
  stop: AbortSignal,
): Promise<void> {
  const types = { cri: createMessageTypes(criV1), containerd: createMessageTypes(containerdTable) };
  const log = createErrorLog(join(dir, `errors-${process.pid}.log`));
  let count = 0;
  const up = (): void => {
    count += 1;
    report({ kind: 'up', count });
  };
  const running: Promise<void>[] = [];
  const stops: AbortController[] = [];
  stop.addEventListener('abort', () => stops.forEach((one) => one.abort(stop.reason)), { once: true });
  const startMs = performance.now();
  for (const [index, name] of names.entries()) {
    const earlyMs = startMs + (index * 1000) / perSecond - performance.now();
    if (earlyMs > 0) await wait(earlyMs);
    if (stop.aborted) break;
    // A signal shared by thousands of agents would have thousands of listeners, and removing each would be
    // slow.
    const own = new AbortController();
    stops.push(own);
    const options = { name, dir: join(dir, name), bootstrapConfig };
    const agent = runHollowAgent({ types, log }, options, own.signal, up);
    running.push(
      agent.catch((thrown: unknown) => report({ kind: 'failed', message: asError(thrown).message })),
    );
  }
  await Promise.all(running);
}

process.on('unhandledRejection', (thrown) => report({ kind: 'failed', message: asError(thrown).message }));
const stop = new AbortController();
process.on('message', (message: ToAgents) => {
  if (message.kind === 'stop') stop.abort(new Error('the fleet is stopping'));
  else void run(message.options, stop.signal).then(() => process.exit(0));
});
// The parent process has exited.
process.on('disconnect', () => process.exit(1));
