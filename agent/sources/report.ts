/** Tells people of manifests that cannot be used: a log line and an event for each, once. */

import type { Logger } from '#api/kit/logger.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { ObjectReference } from '#api/schema/gen/core-v1.ts';
import type { EventType } from '../events/recorder.ts';
import type { DesiredState, ManifestOrigin, RejectedManifest, SourceConflict } from './types.ts';

export interface SourceReporterDeps {
  readonly log: Logger;
  /** Name of this node: the object of events about manifests that name no object of their own. */
  readonly node: string;
  readonly event: (involved: ObjectReference, type: EventType, reason: string, message: string) => void;
}

/** Reports what is new in the state since the last call. */
export type SourceReporter = (state: DesiredState) => void;

/** `/etc/manifests/web.yaml, document 2`. */
export function formatOrigin(origin: ManifestOrigin): string {
  return origin.document === '' ? origin.location : `${origin.location}, document ${origin.document}`;
}

/** The object that an identity such as `Pod default/web` names; the node for anything else. */
export function involvedObject(identity: string, node: string): ObjectReference {
  const [, kind, namespace, name] = /^(\w+) (?:([^\s/]+)\/)?([^\s/]+)$/.exec(identity) ?? [];
  const known = kind !== undefined && name !== undefined && kind !== 'Document' && kind !== 'Manifest';
  if (!known) return { kind: 'Node', name: node, uid: node };
  return { kind, ...(namespace === undefined ? {} : { namespace }), name, apiVersion: 'v1' };
}

function describeRejected({ origin, errors }: RejectedManifest): string {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${formatOrigin(origin)}: ${first === undefined ? 'rejected' : formatFault(first)}${more}`;
}

/** Faults of a whole place have no field to begin with. */
function formatFault(error: RejectedManifest['errors'][number]): string {
  return error.field === '' ? error.detail : formatFieldError(error);
}

function describeConflict({ identity, winner, loser }: SourceConflict): string {
  return `${identity} of ${formatOrigin(loser)} is not used: ${formatOrigin(winner)} has it already`;
}

export function createSourceReporter(deps: SourceReporterDeps): SourceReporter {
  const { log, node, event } = deps;
  let reported: ReadonlySet<string> = new Set();

  return (state) => {
    const now = new Set<string>();
    /** @returns whether the problem was not there before */
    const note = (text: string): boolean => {
      now.add(text);
      return !reported.has(text);
    };
    for (const rejected of state.rejected) {
      const message = describeRejected(rejected);
      const errors = rejected.errors.map(formatFault);
      if (!note(`${rejected.identity}\n${formatOrigin(rejected.origin)}\n${errors.join('\n')}`)) continue;
      log.warn({ ...rejected.origin, identity: rejected.identity, errors }, 'Manifest rejected');
      event(involvedObject(rejected.identity, node), 'Warning', 'ManifestRejected', message);
    }
    for (const conflict of state.conflicts) {
      const message = describeConflict(conflict);
      if (!note(message)) continue;
      log.warn({ ...conflict }, 'Manifest not used, another one has its name');
      event(involvedObject(conflict.identity, node), 'Warning', 'ManifestConflict', message);
    }
    reported = now;
  };
}
