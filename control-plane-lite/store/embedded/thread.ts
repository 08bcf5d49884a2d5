/** Thread of a store on disk. */
import { startThread, type Thread, type ThreadListener } from '../thread.ts';
import type { ReadyWord, ToMain, ToWorker, WorkerTask } from './protocol.ts';

export type DiskThread = Thread<ReadyWord, ToWorker>;

/** Starts it in the background; `ready` resolves once the task has started, or is complete. */
export function startDiskThread(task: WorkerTask, listener: ThreadListener<ToMain>): DiskThread {
  return startThread(
    { program: programOf(import.meta.url), name: `store ${task.task}`, data: task },
    listener,
  );
}

/** Sources run unbundled; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './store-worker.js', url);
}
