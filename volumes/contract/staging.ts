/** Contract of staged volumes, which exist once per node regardless of how many pods use them:
 *
 *      attach ─▶ stage (once per node) ─▶ publish (once per pod) ─▶ … ─▶ unpublish ─▶ unstage ─▶ detach
 *
 *  The information that undoes a step is persisted before the step is done, so that any process can undo
 *  it at any time without the pod's specification. */

/** State of a source for undoing, in addition to the mount table. No secrets. */
export type UndoState = Readonly<Record<string, string>>;

/** `record.json` of a staged volume, in its own directory beneath `plugins/<domain>~<source>/`. */
export interface StageRecord {
  /** Volume field that selects the source. */
  readonly source: string;
  /** Unique on the node: pods whose volumes have the same name share it. */
  readonly uniqueName: string;
  readonly state: UndoState;
}

/** `<volume>.json` in the pod's directory `volume-records`. */
export interface PublishRecord {
  readonly source: string;
  readonly volumeName: string;
  /** Last argument of `SourceRequest.dir`. */
  readonly dirName?: string;
  /** The pod uses it raw. */
  readonly block?: boolean;
  /** Name of the staged volume to which it belongs, if any. */
  readonly uniqueName?: string;
  readonly state: UndoState;
}

/** Directory of a staged volume. */
export interface StageFolder {
  /** Accessible only to the agent. */
  readonly path: string;
  /** `<path>/globalmount`, created by the caller: mount point of the volume's file system on the node. */
  readonly globalMount: string;
  /** Persists how to undo the next step, before that step is done. Replaces the previous state. */
  save(state: UndoState): Promise<void>;
  /** State saved last, possibly by an earlier process. */
  readonly saved: UndoState;
}

export interface StagePlan {
  readonly uniqueName: string;
  /** Attaches the volume to the node and, unless it is used raw, mounts it. Runs at most once at a time per
   *  name, again for each new pod, and repairs missing parts.
   *  @throws VolumeSetupError, SyscallError, or the system's error */
  readonly stage: (folder: StageFolder, signal: AbortSignal) => Promise<void>;
}
