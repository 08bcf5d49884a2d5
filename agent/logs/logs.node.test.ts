import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { containerLogName, containerLogPath, podLogDir } from './paths.ts';
import { readLogs } from './reader.ts';
import { createLogRotator } from './rotation-manager.ts';
import { lastLogLines } from './tail.ts';

const never = new AbortController().signal;
const LINES = 60_000;
let connection: CriConnection;
let podLogsDir: string;
let podSandboxId: string;
let containerId: string;
let logPath: string;

beforeAll(async () => {
  podLogsDir = await mkdtemp('/tmp/na-pl-');
  connection = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  await connection.whenConnected();
  const pod = { namespace: 'test', name: 'logs', uid: randomUUID() };
  const config = {
    metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: 0 },
    logDirectory: podLogDir(podLogsDir, pod),
    linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
  };
  logPath = containerLogPath(podLogsDir, pod, 'main', 0);
  ({ podSandboxId } = await connection.runtime.runPodSandbox({ config }));
  ({ containerId } = await connection.runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: 'main', attempt: 0 },
      image: { image: 'local/busybox:1' },
      command: [
        'sh',
        '-c',
        `for part in 1 2 3 4 5 6; do seq $((part * ${LINES} / 6 - ${LINES} / 6 + 1)) $((part * ${LINES} / 6)); sleep 0.3; done; printf '%040000d\\n' 7; echo the end >&2`,
      ],
      logPath: containerLogName('main', 0),
      linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
    },
  }));
});

afterAll(async () => {
  await connection.runtime.stopPodSandbox({ podSandboxId });
  await connection.runtime.removePodSandbox({ podSandboxId });
  connection.close();
  await rm(podLogsDir, { recursive: true });
});

test('a follower loses no line while the log of a busy container is rotated again and again', async () => {
  const rotator = createLogRotator(
    {
      clock: systemClock,
      log: silentLogger,
      listRunning: () => [{ containerID: containerId, logPath }],
      async reopenContainerLog(id, signal) {
        await connection.runtime.reopenContainerLog({ containerId: id }, { signal });
      },
    },
    { podLogsDir, maxSizeBytes: 20_000, maxFiles: 3 },
  );
  await connection.runtime.startContainer({ containerId });
  const stopped = new AbortController();
  const rotating = (async () => {
    for (;;) {
      const { status } = await connection.runtime.containerStatus({ containerId });
      if (status?.state !== 'CONTAINER_RUNNING') break;
      await rotator.rotateOnce(never);
      // Rotations name files by the second; the follower keeps up with files that are not compressed yet.
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    stopped.abort();
  })();
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const options = { follow: true, stopped: stopped.signal, root: podLogsDir };
  for await (const { stream, chunk } of readLogs(logPath, options, never))
    parts[stream].push(Buffer.from(chunk));
  await rotating;

  const lines = Buffer.concat(parts.stdout).toString().trimEnd().split('\n');
  const numbers = lines.slice(0, -1).map(Number);
  expect(numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0))).toBe(true);
  expect(numbers.at(-1)).toBe(LINES);
  expect(lines.at(-1)).toBe(`${'0'.repeat(39_999)}7`);
  expect(Buffer.concat(parts.stderr).toString()).toBe('the end\n');
  expect((await readdir(join(logPath, '..'))).length).toBeGreaterThan(1);
  // The runtime copies the two streams concurrently: either may be last.
  expect(await lastLogLines(logPath, 80, 2048, podLogsDir)).toMatch(/(0007|the end)\n$/);
  expect(numbers).toHaveLength(LINES);
});
