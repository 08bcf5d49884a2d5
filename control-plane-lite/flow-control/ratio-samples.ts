/** Histograms of a ratio that changes, such as occupied seats of all seats: its value at every full millisecond,
 *  and the lowest and highest values between two of them. Milliseconds without a change are observed together
 *  with the next one. Reads no clock. Source: upstream's sample-and-watermark histograms of release 1.24. */
import type { HistogramSeries, MetricsRegistry } from '#api/kit/metrics.ts';

const BUCKETS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

export class RatioSamples {
  /** The value of ratio 1. */
  denominator: number;
  readonly #samples: HistogramSeries;
  readonly #low: HistogramSeries;
  readonly #high: HistogramSeries;
  #ratio = 0;
  #lowest = 0;
  #highest = 0;
  #lastMs: number;

  constructor(histograms: RatioHistograms, labels: readonly string[], denominator: number, nowMs: number) {
    this.#samples = histograms.samples.with(...labels);
    this.#low = histograms.watermarks.with('low', ...labels);
    this.#high = histograms.watermarks.with('high', ...labels);
    this.denominator = denominator;
    this.#lastMs = Math.floor(nowMs);
  }

  set(value: number, nowMs: number): void {
    const passedMs = Math.floor(nowMs) - this.#lastMs;
    if (passedMs > 0) this.#observe(passedMs);
    this.#ratio = value / this.denominator;
    if (this.#ratio < this.#lowest) this.#lowest = this.#ratio;
    if (this.#ratio > this.#highest) this.#highest = this.#ratio;
  }

  #observe(passedMs: number): void {
    this.#samples.observe(this.#ratio, passedMs);
    this.#low.observe(this.#lowest);
    this.#high.observe(this.#highest);
    if (passedMs > 1) {
      this.#low.observe(this.#ratio, passedMs - 1);
      this.#high.observe(this.#ratio, passedMs - 1);
    }
    this.#lastMs += passedMs;
    this.#lowest = this.#ratio;
    this.#highest = this.#ratio;
  }
}

export interface RatioHistograms {
  readonly samples: ReturnType<MetricsRegistry['histogram']>;
  readonly watermarks: ReturnType<MetricsRegistry['histogram']>;
}

/** Creates `<name>_samples` and `<name>_watermarks`. */
export function createRatioHistograms(
  registry: MetricsRegistry,
  name: string,
  what: string,
  labels: readonly string[],
): RatioHistograms {
  return {
    samples: registry.histogram({
      name: `${name}_samples`,
      help: `Periodic observations of ${what}.`,
      labels,
      buckets: BUCKETS,
    }),
    watermarks: registry.histogram({
      name: `${name}_watermarks`,
      help: `Watermarks of ${what}.`,
      labels: ['mark', ...labels],
      buckets: BUCKETS,
    }),
  };
}
