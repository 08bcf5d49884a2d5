/** Times of pods from a watch: when each was created, scheduled and running. Pure apart from its state. */

export interface SeenPod {
  readonly type: string;
  readonly uid: string;
  readonly deployment: string;
  readonly revision: string;
  readonly nodeName: string;
  readonly phase: string;
  readonly ready: boolean;
}

interface Life {
  readonly cameMs: number;
  boundMs: number | undefined;
  ranMs: number | undefined;
  pod: SeenPod;
}

export interface PodTracker {
  take(pod: SeenPod, nowMs: number): void;
  /** Number of existing pods. */
  readonly count: number;
  /** Number of running and ready pods. */
  readonly ready: number;
  /** Returns the number of running and ready pods of a revision. */
  readyOf(revision: string): number;
  /** Returns times from creation to running in ms, of pods created since then. */
  startsMs(sinceMs: number): readonly number[];
  /** Returns times from creation to binding in ms, of pods created since then. */
  bindsMs(sinceMs: number): readonly number[];
  /** Returns the number of pods created since then that have not run. */
  unstarted(sinceMs: number): number;
}

export function createPodTracker(): PodTracker {
  const there = new Map<string, Life>();
  const gone: Life[] = [];
  const readyByRevision = new Map<string, number>();
  let ready = 0;

  function count(pod: SeenPod, by: 1 | -1): void {
    if (!pod.ready) return;
    ready += by;
    readyByRevision.set(pod.revision, (readyByRevision.get(pod.revision) ?? 0) + by);
  }
  const all = (sinceMs: number): readonly Life[] =>
    [...there.values(), ...gone].filter(({ cameMs }) => cameMs >= sinceMs);

  return {
    take(pod, nowMs) {
      const known = there.get(pod.uid);
      if (known !== undefined) count(known.pod, -1);
      if (pod.type === 'DELETED') {
        there.delete(pod.uid);
        if (known !== undefined) gone.push(known);
        return;
      }
      count(pod, 1);
      const life = known ?? { cameMs: nowMs, boundMs: undefined, ranMs: undefined, pod };
      life.pod = pod;
      if (pod.nodeName !== '') life.boundMs ??= nowMs;
      if (pod.phase === 'Running') life.ranMs ??= nowMs;
      there.set(pod.uid, life);
    },
    get count() {
      return there.size;
    },
    get ready() {
      return ready;
    },
    readyOf: (revision) => readyByRevision.get(revision) ?? 0,
    startsMs: (sinceMs) =>
      all(sinceMs).flatMap(({ cameMs, ranMs }) => (ranMs === undefined ? [] : [ranMs - cameMs])),
    bindsMs: (sinceMs) =>
      all(sinceMs).flatMap(({ cameMs, boundMs }) => (boundMs === undefined ? [] : [boundMs - cameMs])),
    unstarted: (sinceMs) => all(sinceMs).filter(({ ranMs }) => ranMs === undefined).length,
  };
}
