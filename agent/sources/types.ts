/** What a pod source delivers. A source sends its whole present content each time anything changed;
 *  the manager merges the sources and hands the result on. */
import type { FieldError } from '#api/meta/field-error.ts';
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
} from '#api/schema/gen/core-v1.ts';
import type { CSIDriver } from '#api/schema/gen/storage-v1.ts';

/** In order of precedence: of two sources with the same pod, the first wins. */
export const SOURCE_NAMES = ['file', 'url', 'socket', 'api'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/** Where a manifest was read. */
export interface ManifestOrigin {
  readonly source: SourceName;
  /** File path, URL, or name under which the socket API keeps it. */
  readonly location: string;
  /** 1-based number of the document within the location; list items count on as `2[0]`. */
  readonly document: string;
}

/** A pod with its defaults, a static identity, and no validation errors. */
export interface SourcePod {
  readonly pod: Pod;
  readonly origin: ManifestOrigin;
}

/** A configuration object from a manifest; `kind` is always set and tells the types apart. */
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

/** A manifest, or one document of it, that cannot be used, and every reason why. */
export interface RejectedManifest {
  readonly origin: ManifestOrigin;
  /** `Pod default/web` as far as it could be read. */
  readonly identity: string;
  readonly errors: readonly FieldError[];
}

/** What one file, URL answer or applied document holds. */
export interface ManifestSet {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly rejected: readonly RejectedManifest[];
}

export type ManifestPlace = Pick<ManifestOrigin, 'source' | 'location'>;

/** Reads the bytes found at one place, in turns of a few milliseconds. Never rejects but for an abort: faults
 *  are in the set. Pods and objects that are as in `previous` keep their object identity. */
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
   *  what it lacks is unknown, not unwanted. */
  readonly partial?: true;
}

export type SourceSink = (snapshot: SourceSnapshot) => void;

/** A source runs until `signal` fires and calls the sink first when it has read everything once. */
export interface PodSource {
  readonly name: SourceName;
  run(signal: AbortSignal, sink: SourceSink): Promise<void>;
}

/** The same pod or object from two places: `loser` is not used. */
export interface SourceConflict {
  readonly identity: string;
  readonly winner: ManifestOrigin;
  readonly loser: ManifestOrigin;
}

/** All sources merged. */
export interface DesiredState {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly rejected: readonly RejectedManifest[];
  readonly conflicts: readonly SourceConflict[];
  /** Every configured source has delivered at least once; nothing may be removed as unwanted before. */
  readonly complete: boolean;
  /** The sources that have not: a pod that came from any other and is no longer named may already go. */
  readonly unread: readonly SourceName[];
}
