/** Jobs and their pods for tests. */
import { podOf } from '../workloads-kit/kit.fixture.ts';
import type { JobFacts, JobPod } from './model.ts';

export const NOW_MS: number = Date.parse('2026-01-01T00:00:00Z');
export const NOW = '2026-01-01T00:00:00Z';

/** Two at a time, three in all. */
export const jobOf = (changes: Partial<JobFacts> = {}): JobFacts => ({
  parallelism: 2,
  completions: 3,
  indexed: false,
  backoffLimit: 6,
  suspended: false,
  restarting: false,
  deleting: false,
  tracked: false,
  status: { startTime: NOW },
  ...changes,
});

export const jobPodOf = (name: string, changes: Partial<JobPod> = {}): JobPod => ({
  ...podOf(name),
  held: false,
  finishedMs: 0,
  restartSum: 0,
  ...changes,
});

export const succeeded = (name: string, changes: Partial<JobPod> = {}): JobPod =>
  jobPodOf(name, { phase: 'Succeeded', ready: false, finishedMs: NOW_MS - 1000, ...changes });

export const failed = (name: string, changes: Partial<JobPod> = {}): JobPod =>
  jobPodOf(name, { phase: 'Failed', ready: false, finishedMs: NOW_MS - 60_000, ...changes });
