/** Asks the container runtime what it is. */
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import type { RuntimeAnswer } from './machine.ts';

const PATIENCE_MS = 5000;

/** @throws Error when nobody answers in time */
export async function askRuntime(endpoint: string): Promise<RuntimeAnswer> {
  const connection = connectRuntime({ endpoint, log: silentLogger, requestTimeoutMs: PATIENCE_MS });
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await connection.whenConnected(signal).catch(() => {
      throw new Error(`nothing answers within ${PATIENCE_MS / 1000} s`);
    });
    const [{ runtimeName, runtimeVersion }, { status }] = await Promise.all([
      connection.runtime.version({}),
      connection.runtime.status({}),
    ]);
    const conditions = (status?.conditions ?? []).map(({ type, status: holds, message }) => ({
      type,
      status: holds,
      message,
    }));
    return { name: runtimeName, version: runtimeVersion, conditions };
  } finally {
    connection.close();
  }
}
