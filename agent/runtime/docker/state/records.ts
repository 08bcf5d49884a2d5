/** Sandboxes and containers of this node as docker last reported them. In memory only: docker is the source. */
import type { ContainerNote, SandboxNote } from '../config/labels.ts';

export interface SandboxRecord {
  readonly kind: 'sandbox';
  readonly id: string;
  readonly note: SandboxNote;
  readonly createdAtNs: bigint;
  readonly isReady: boolean;
  readonly addresses: readonly string[];
}

export type ContainerPhase = 'created' | 'running' | 'exited';

export interface ContainerRecord {
  readonly kind: 'container';
  readonly id: string;
  readonly note: ContainerNote;
  readonly imageId: string;
  readonly createdAtNs: bigint;
  readonly phase: ContainerPhase;
  readonly startedAtNs: bigint;
  readonly finishedAtNs: bigint;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export type RuntimeRecord = SandboxRecord | ContainerRecord;
