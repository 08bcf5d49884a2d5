/** Volumes that a node has once, whoever of its pods uses them:
 *
 *      attach ─▶ stage (once for the node) ─▶ publish (once for each pod) ─▶ … ─▶ unpublish ─▶ unstage ─▶ detach
 *
 *  All that is needed to undo a step is on disk before the step is done, so that it can be undone without the pod's
 *  specification, by another process, at any time. */

/** What a source needs to undo what it did, besides the mount table. No secrets. */
export type UndoState = Readonly<Record<string, string>>;

/** `record.json` of a staged volume, in its own folder beneath `plugins/<domain>~<source>/`. */
export interface StageRecord {
  /** Field of the volume that selects the source. */
  readonly source: string;
  /** Unique on the node: pods whose volumes have the same name share it. */
  readonly uniqueName: string;
  readonly state: UndoState;
}

/** `<volume>.json` in the pod's folder `volume-records`. */
export interface PublishRecord {
  readonly source: string;
  readonly volumeName: string;
  /** As given to `SourceRequest.dir` last. */
  readonly dirName?: string;
  /** The pod has it as a raw device. */
  readonly block?: boolean;
  /** The staged volume that it is a part of, if it is. */
  readonly uniqueName?: string;
  readonly state: UndoState;
}

/** A staged volume's own folder. */
export interface StageFolder {
  /** Nobody but the agent has a way in. */
  readonly path: string;
  /** `<path>/globalmount`, which the caller makes: where the volume's file system is mounted for the node. */
  readonly globalMount: string;
  /** Keeps what undoes the next step, before the step is done. Replaces what was kept. */
  save(state: UndoState): Promise<void>;
  /** What was kept last, possibly by an earlier process. */
  readonly saved: UndoState;
}

export interface StagePlan {
  readonly uniqueName: string;
  /** Brings the volume to the node: attaches it and, unless it is a raw device, mounts it. Runs at most once at a
   *  time for a name, again for each pod that comes, and repairs what is missing.
   *  @throws VolumeSetupError, SyscallError, or the system's error */
  readonly stage: (folder: StageFolder, signal: AbortSignal) => Promise<void>;
}
