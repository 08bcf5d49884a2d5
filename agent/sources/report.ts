/** Reports unusable manifests: a log line and an event for each, once. */

import type { ObjectReference } from '#api/gen/core-v1.ts';
import type { Logger } from '#api/kit/logger.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { EventType } from '../events/recorder.ts';
import type { DesiredState, ManifestOrigin, RejectedManifest, SourceConflict } from './types.ts';

export interface SourceReporterDeps {
  readonly log: Logger;
  /** Name of this node: the object of events for manifests that name no object. */
  readonly node: string;
  readonly event: (involved: ObjectReference, type: EventType, reason: string, message: string) => void;
}

/** Reports problems that are new since the last call. */
export type SourceReporter = (state: DesiredState) => void;

/** `/etc/manifests/web.yaml, document 2`. */
export function formatOrigin(origin: ManifestOrigin): string {
  return origin.document === '' ? origin.location : `${origin.location}, document ${origin.document}`;
}

/** Returns the object of an identity such as `Pod default/web`; otherwise the node. */
export function involvedObject(identity: string, node: string): ObjectReference {
  const [, kind, namespace, name] = /^(\w+) (?:([^\s/]+)\/)?([^\s/]+)$/.exec(identity) ?? [];
  const known = kind !== undefined && name !== undefined && kind !== 'Document' && kind !== 'Manifest';
  if (!known) return { kind: 'Node', name: node, uid: node };
  return { kind, ...(namespace === undefined ? {} : { namespace }), name, apiVersion: 'v1' };
}

function describeRejected({ origin, errors }: RejectedManifest): string {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${formatOrigin(origin)}: ${first === undefined ? 'rejected' : describeError(first)}${more}`;
}

/** Errors of a whole place have no field. */
function describeError(error: RejectedManifest['errors'][number]): string {
  return error.field === '' ? error.detail : formatFieldError(error);
}

function describeConflict({ identity, winner, loser }: SourceConflict): string {
  return `${identity} in ${formatOrigin(loser)} is ignored: ${formatOrigin(winner)} already defines it`;
}

export function createSourceReporter(deps: SourceReporterDeps): SourceReporter {
  const { log, node, event } = deps;
  let reported: ReadonlySet<string> = new Set();

  return (state) => {
    const now = new Set<string>();
    /** @returns whether the problem is new */
    const note = (text: string): boolean => {
      now.add(text);
      return !reported.has(text);
    };
    for (const rejected of state.rejected) {
      const message = describeRejected(rejected);
      const errors = rejected.errors.map(describeError);
      if (!note(`${rejected.identity}\n${formatOrigin(rejected.origin)}\n${errors.join('\n')}`)) continue;
      log.warn({ ...rejected.origin, identity: rejected.identity, errors }, 'Manifest rejected');
      event(involvedObject(rejected.identity, node), 'Warning', 'ManifestRejected', message);
    }
    for (const conflict of state.conflicts) {
      const message = describeConflict(conflict);
      if (!note(message)) continue;
      log.warn({ ...conflict }, 'Manifest ignored; another manifest defines the same pod');
      event(involvedObject(conflict.identity, node), 'Warning', 'ManifestConflict', message);
    }
    reported = now;
  };
}
