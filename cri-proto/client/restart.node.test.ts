/** Connection and event stream across a kill -9 of a real containerd, which is then restarted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { isRetryable } from '../errors.ts';
import { type CriConnection, connectRuntime } from './connection.ts';
import { watchRuntimeEvents } from './events.ts';

let runtime: TestContainerd;
let cri: CriConnection;

beforeAll(async () => {
  runtime = await startTestContainerd();
  cri = connectRuntime({ endpoint: runtime.endpoint, log: silentLogger });
});

afterAll(async () => {
  cri.close();
  await runtime.purge();
});

async function startContainer(name: string, command: readonly string[]): Promise<string> {
  const config = {
    metadata: { name, uid: `uid-${name}`, namespace: 'default', attempt: 0 },
    linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
  } as const;
  const { podSandboxId } = await cri.runtime.runPodSandbox({ config });
  const { containerId } = await cri.runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: { metadata: { name }, image: { image: 'local/busybox:1' }, command },
  });
  await cri.runtime.startContainer({ containerId });
  return containerId;
}

describe('a containerd that is killed and comes back', () => {
  test('calls fail as retryable, then work; events resync and continue with later exits', async () => {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(50_000)]);
    const events = watchRuntimeEvents(cri, { clock: systemClock, log: silentLogger, signal });
    expect((await events.next()).value).toEqual({ kind: 'resync' });
    // One for each possible resync: the runtime may reject the event method of the CRI some time after it
    // seemed to accept it.
    const waiting = [
      await startContainer('restart1', ['sleep', '600']),
      await startContainer('restart2', ['sleep', '600']),
    ];
    let containerId = '';
    const { pid } = runtime.containerd;
    if (pid === undefined) throw new Error('containerd does not run');

    const away = new Promise<void>((resolve) => {
      cri.onStateChange((state) => state === 'away' && resolve());
    });
    process.kill(pid, 'SIGKILL');
    await away;
    const failure: unknown = await cri.runtime.version({}).catch((thrown: unknown) => thrown);
    expect(isRetryable(failure)).toBe(true);

    await cri.whenConnected(signal);
    const seen: unknown[] = [];
    for await (const event of events) {
      if (event.kind !== 'resync' && 'containerId' in event && event.containerId !== containerId) continue;
      seen.push(event);
      if (event.kind === 'resync') {
        containerId = waiting.shift() ?? '';
        await cri.runtime.stopContainer({ containerId, timeout: 0n });
      }
      if (event.kind === 'stopped') break;
    }
    stop.abort();
    expect(seen.slice(-2)).toEqual([
      { kind: 'resync' },
      { kind: 'stopped', containerId, exitCode: 137, exitedAtMs: expect.any(Number) as number },
    ]);
    const { status } = await cri.runtime.containerStatus({ containerId });
    expect(status?.state).toBe('CONTAINER_EXITED');
  });
});
