/** Contract of pod sources. A source sends its complete content after each change; the manager merges the
 *  sources and publishes the result. */

import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
} from '#api/gen/core-v1.ts';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';

/** In order of precedence: if two sources define the same pod, the first wins. */
export const SOURCE_NAMES = ['file', 'url', 'socket', 'api'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/** Location from which a manifest was read. */
export interface ManifestOrigin {
  readonly source: SourceName;
  /** File path, URL, or the name of an object applied through the socket. */
  readonly location: string;
  /** 1-based number of the document within the location; list items are numbered `2[0]`. */
  readonly document: string;
}

/** A pod with its defaults, a static identity, and no validation errors. */
export interface SourcePod {
  readonly pod: Pod;
  readonly origin: ManifestOrigin;
}

/** A configuration object from a manifest; `kind` is always set and discriminates the types. */
export type ConfigObject =
  | (ConfigMap & { readonly kind: 'ConfigMap' })
  | (Secret & { readonly kind: 'Secret' })
  | (PersistentVolume & { readonly kind: 'PersistentVolume' })
  | (CSIDriver & { readonly kind: 'CSIDriver' })
  | (PersistentVolumeClaim & { readonly kind: 'PersistentVolumeClaim' })
  | (Endpoints & { readonly kind: 'Endpoints' });

export interface SourceObject {
  readonly object: ConfigObject;
  readonly origin: ManifestOrigin;
}

/** A rejected manifest, or document of one, with every reason. */
export interface RejectedManifest {
  readonly origin: ManifestOrigin;
  /** `Pod default/web` as far as it could be parsed. */
  readonly identity: string;
  readonly errors: readonly FieldError[];
}

/** Content of one file, URL response or applied document. */
export interface ManifestSet {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly rejected: readonly RejectedManifest[];
}

export type ManifestPlace = Pick<ManifestOrigin, 'source' | 'location'>;

/** Parses the bytes of one place, yielding every few milliseconds. Rejects only for an abort: errors are in
 *  the set. Pods and objects that are unchanged since `previous` keep their object identity. */
export type ReadManifests = (
  bytes: Uint8Array,
  place: ManifestPlace,
  previous: ManifestSet | undefined,
  signal: AbortSignal,
) => Promise<ManifestSet>;

export interface SourceSnapshot {
  readonly source: SourceName;
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly rejected: readonly RejectedManifest[];
  /** The source could not read its content yet (URL not reachable, directory not readable since the start):
   *  missing pods are unknown, not unwanted. */
  readonly partial?: true;
}

export type SourceSink = (snapshot: SourceSnapshot) => void;

/** A source runs until `signal` fires and calls the sink for the first time once it has read everything. */
export interface PodSource {
  readonly name: SourceName;
  run(signal: AbortSignal, sink: SourceSink): Promise<void>;
}

/** The same pod or object from two places: `loser` is ignored. */
export interface SourceConflict {
  readonly identity: string;
  readonly winner: ManifestOrigin;
  readonly loser: ManifestOrigin;
}

/** Merged content of all sources. */
export interface DesiredState {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly rejected: readonly RejectedManifest[];
  readonly conflicts: readonly SourceConflict[];
  /** Every configured source has delivered at least once; nothing may be removed as unwanted before. */
  readonly complete: boolean;
  /** Sources that have not delivered: a pod of any other source that is no longer named may already be
   *  removed. */
  readonly unread: readonly SourceName[];
}
