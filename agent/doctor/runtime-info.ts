/** Queries version and status of the container runtime. */
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import type { PodSandbox } from '#cri/gen/cri-v1.ts';
import { criKeys } from '../pod-identity/labels.ts';
import type { HomelessSandbox, RuntimeInfo } from './machine.ts';

const PATIENCE_MS = 5000;

/** Returns sandboxes with an instance of any vocabulary and without a root directory. */
export function homelessAmong(sandboxes: readonly PodSandbox[]): readonly HomelessSandbox[] {
  const every = Object.values(VOCABULARIES).map(criKeys);
  return sandboxes.flatMap(({ id, labels, annotations }) => {
    const keys = every.find(({ instance }) => labels[instance] !== undefined);
    if (keys === undefined || annotations[keys.rootDir] !== undefined) return [];
    const pod = `${labels[keys.podNamespace] ?? ''}/${labels[keys.podName] ?? ''}`;
    return [{ id, pod, instance: labels[keys.instance] ?? '' }];
  });
}

/** @throws Error when the runtime does not respond in time */
export async function readRuntimeInfo(endpoint: string): Promise<RuntimeInfo> {
  const connection = connectRuntime({ endpoint, log: silentLogger, requestTimeoutMs: PATIENCE_MS });
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await connection.whenConnected(signal).catch(() => {
      throw new Error(`no response within ${PATIENCE_MS / 1000} s`);
    });
    const [{ runtimeName, runtimeVersion }, { status }, { items }] = await Promise.all([
      connection.runtime.version({}),
      connection.runtime.status({}),
      connection.runtime.listPodSandbox({}),
    ]);
    const conditions = (status?.conditions ?? []).map(({ type, status: holds, message }) => ({
      type,
      status: holds,
      message,
    }));
    return { name: runtimeName, version: runtimeVersion, conditions, homeless: homelessAmong(items) };
  } finally {
    connection.close();
  }
}
