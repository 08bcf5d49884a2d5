/** Sizes of the writable layers of containers. Docker walks a layer to measure it, so that all of them together
 *  are measured for at most a hundredth of the time. */
import type { Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { DockerClient } from '../client/docker-client.ts';

export interface LayerSize {
  readonly bytes: number;
  readonly measuredAtMs: number;
}

export interface LayerSizes {
  /** Returns the last sizes, and measures them again if they are old; waits only for the first measurement. */
  sizesOf(ids: readonly string[]): Promise<ReadonlyMap<string, LayerSize>>;
}

const YOUNG_MS = 10_000;
const SHARE = 100;

export function createLayerSizes(clock: Clock, client: Pick<DockerClient, 'inspect'>): LayerSizes {
  const sizes = new Map<string, LayerSize>();
  const flights = createSingleFlight<void>();
  let nextMs = Number.NEGATIVE_INFINITY;

  async function measure(ids: readonly string[]): Promise<void> {
    const startMs = clock.monotonic();
    // One after the other: it is disk work.
    for (const id of ids) {
      const measuredAtMs = clock.now();
      const bytes = await client.inspect(id, { withSize: true }).then(
        (inspected) => inspected.writableBytes,
        () => undefined,
      );
      if (bytes !== undefined) sizes.set(id, { bytes, measuredAtMs });
    }
    const endMs = clock.monotonic();
    nextMs = endMs + Math.max(YOUNG_MS, (endMs - startMs) * SHARE);
    const present = new Set(ids);
    for (const id of sizes.keys()) if (!present.has(id)) sizes.delete(id);
  }

  return {
    async sizesOf(ids) {
      const isDue = clock.monotonic() >= nextMs;
      const unknown = ids.filter((id) => !sizes.has(id));
      if (isDue || unknown.length > 0) {
        const measured = flights.run('', () => measure(isDue ? ids : [...sizes.keys(), ...unknown]));
        if (unknown.length > 0) await measured;
        else measured.catch(() => undefined);
      }
      return sizes;
    },
  };
}
