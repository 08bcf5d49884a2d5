/** A probe request and its result. Types only. */

import type { Container, Probe } from '#api/gen/core-v1.ts';
import type { ProbeOutcome } from './probe-state.ts';

export interface ProbeResult {
  readonly outcome: ProbeOutcome;
  /** Shortened output of the probe, for messages. */
  readonly output: string;
}

export interface ProbeRequest {
  readonly probe: Probe;
  readonly container: Pick<Container, 'name' | 'ports'>;
  readonly containerId: string;
  /** Empty while unknown. */
  readonly podIP: string;
  readonly timeoutMs: number;
}

/** Runs one probe. May reject when `signal` fires, and for an error of the prober, which does not count
 *  against the container. */
export type ProbeRunner = (request: ProbeRequest, signal: AbortSignal) => Promise<ProbeResult>;
