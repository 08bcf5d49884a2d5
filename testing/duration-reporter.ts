/** Reporter of all runs: records how long each test file took, and whether it failed. */
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { type Duration, ROOT, recordDurations } from './durations.ts';

export default class DurationReporter implements Reporter {
  readonly #durations: Duration[] = [];

  onTestModuleEnd(module: TestModule): void {
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    this.#durations.push({
      project: module.project.name,
      file: relative(ROOT, module.moduleId),
      ms: duration + collectDuration + setupDuration,
      endedMs: Date.now(),
      hasFailed: !module.ok(),
    });
  }

  onTestRunEnd(): void {
    recordDurations(this.#durations.splice(0));
  }
}
