/** Generates a data key and has it encrypted. */
import { randomBytes } from 'node:crypto';
import type { DataKeyMetrics } from '../metrics.ts';

const KEY_BYTES = 32;

/** @returns the key, and what the key management service returned for it
 *  @throws StoreError of the service */
export async function newDataKey<E>(
  encrypt: (key: Buffer) => Promise<E>,
  metrics: DataKeyMetrics,
): Promise<{ readonly key: Buffer; readonly encrypted: E }> {
  const began = performance.now();
  const key = randomBytes(KEY_BYTES);
  try {
    const encrypted = await encrypt(key);
    metrics.generated((performance.now() - began) / 1000);
    return { key, encrypted };
  } catch (thrown) {
    metrics.generationFailed();
    throw thrown;
  }
}
