/** State of a record according to an inspection by docker. Pure. */

import type { InspectedContainer } from '../client/parse.ts';
import type { ContainerNote, SandboxNote } from '../config/labels.ts';
import type { ContainerRecord, RuntimeRecord } from './records.ts';

type Outcome = Pick<
  ContainerRecord,
  'phase' | 'startedAtNs' | 'finishedAtNs' | 'exitCode' | 'reason' | 'message'
>;

const NOT_ENDED = { finishedAtNs: 0n, exitCode: 0, reason: '', message: '' } as const;
/** Exit code of a container whose process could not be started, unless docker reports the shell's. */
const START_FAILED = 128;

function reasonOf({ exitCode, isOomKilled }: InspectedContainer): string {
  if (isOomKilled) return 'OOMKilled';
  return exitCode === 0 ? 'Completed' : 'Error';
}

/** A failed start leaves a container that docker reports as created, with an error. */
export function outcomeOf(inspected: InspectedContainer): Outcome {
  const { isRunning, startedAtNs, exitCode, error, status } = inspected;
  if (isRunning) return { phase: 'running', startedAtNs, ...NOT_ENDED };
  if (startedAtNs === 0n) {
    if (error === '') {
      if (status === 'created') return { phase: 'created', startedAtNs, ...NOT_ENDED };
    }
    return {
      phase: 'exited',
      startedAtNs: 0n,
      finishedAtNs: inspected.createdAtNs,
      exitCode: exitCode === 126 || exitCode === 127 ? exitCode : START_FAILED,
      reason: 'StartError',
      message: error,
    };
  }
  const { finishedAtNs } = inspected;
  // The clock may have been set back in between.
  const endNs = finishedAtNs > startedAtNs ? finishedAtNs : startedAtNs;
  return {
    phase: 'exited',
    startedAtNs,
    finishedAtNs: endNs,
    exitCode,
    reason: reasonOf(inspected),
    message: error,
  };
}

export function recordOf(note: SandboxNote | ContainerNote, inspected: InspectedContainer): RuntimeRecord {
  const { id, createdAtNs, imageId, addresses, isRunning } = inspected;
  if (note.kind === 'sandbox')
    return { kind: 'sandbox', id, note, createdAtNs, isReady: isRunning, addresses };
  return { kind: 'container', id, note, imageId, createdAtNs, ...outcomeOf(inspected) };
}
