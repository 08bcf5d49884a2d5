/** Tasks of a thread that waits for the disk. */
import type { Ready } from '../thread/protocol.ts';
import type { ThreadOptions } from '../thread/start.ts';

export type Task =
  | {
      readonly task: 'serve';
      readonly dir: string;
      readonly check: boolean;
      readonly maxValueBytes: number;
    }
  | { readonly task: 'backup'; readonly dir: string; readonly target: string; readonly keysDir?: string }
  | {
      readonly task: 'restore';
      readonly dir: string;
      readonly file: string;
      readonly force: boolean;
      readonly keysDir?: string;
    };

/** A backup or restore is complete. */
export interface Completed extends Ready {
  /** Revision of the copy, or of the restored store. */
  readonly revision: number;
}

/** The thread that performs the task. */
export function threadOf(task: Task): ThreadOptions {
  return { program: programOf(import.meta.url), name: `store ${task.task}`, data: task };
}

/** Sources run unbundled; a bundle has the thread's program as a file of its own. */
function programOf(url: string): URL {
  return new URL(url.endsWith('.ts') ? './worker.ts' : './store-worker.js', url);
}
