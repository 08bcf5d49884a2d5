/** Health checks of key management services. Results are reused for a while, as upstream does, because probes are
 *  frequent and a check calls the service. */

import { type Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Keyring, KmsProvider } from '../contract.ts';

export interface KmsCheck {
  /** `kms-provider-0`. */
  readonly name: string;
  /** @throws Error if the service cannot encrypt and decrypt */
  check(): Promise<void>;
}

const HEALTHY_MS = 20_000;
const FAILED_MS = 3000;

interface Result {
  readonly provider: KmsProvider;
  readonly untilMs: number;
  readonly error: Error | undefined;
}

function createCheck(
  clock: Pick<Clock, 'monotonic'>,
  index: number,
  find: () => KmsProvider | undefined,
): KmsCheck {
  let last: Result | undefined;

  async function measure(provider: KmsProvider): Promise<Result> {
    const error = await provider.check().then(
      () => undefined,
      (thrown: unknown) => asError(thrown),
    );
    const untilMs = clock.monotonic() + (error === undefined ? HEALTHY_MS : FAILED_MS);
    return { provider, untilMs, error };
  }

  return {
    name: `kms-provider-${index}`,
    async check() {
      const provider = find();
      if (provider === undefined) return;
      if (last === undefined || last.provider !== provider || last.untilMs <= clock.monotonic())
        last = await measure(provider);
      if (last.error !== undefined) throw last.error;
    },
  };
}

/** Returns a function that returns the checks of the services in use: one object for each position. */
export function createKmsChecks(
  clock: Pick<Clock, 'monotonic'>,
  keyring: () => Keyring,
): () => readonly KmsCheck[] {
  const checks: KmsCheck[] = [];
  return () => {
    const { kms } = keyring();
    while (checks.length < kms.length) {
      const index = checks.length;
      checks.push(createCheck(clock, index, () => keyring().kms[index]));
    }
    return checks.slice(0, kms.length);
  };
}
