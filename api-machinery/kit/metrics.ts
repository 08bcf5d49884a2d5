/** Counters, gauges and histograms, and their text form for scrapers (exposition format 0.0.4). Stores
 *  numbers only: no clock, no sockets. A series is looked up once by its label values and then updated
 *  without further cost.
 *  @see https://prometheus.io/docs/instrumenting/exposition_formats/ */

/** Content type of `MetricsRegistry.text`. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Maximum number of series of one metric; more are dropped, so that label values from outside cannot
 *  exhaust the memory. */
const DEFAULT_MAX_SERIES = 10_000;

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Default 10,000. */
  readonly maxSeries?: number;
}

export interface HistogramOptions extends MetricOptions {
  /** Upper bounds, ascending, without infinity. */
  readonly buckets: readonly number[];
}

export interface CounterSeries {
  readonly value: number;
  inc(by?: number): void;
}

export interface GaugeSeries {
  readonly value: number;
  set(value: number): void;
  add(by: number): void;
}

export interface HistogramSeries {
  readonly count: number;
  readonly sum: number;
  /** @param times default 1 */
  observe(value: number, times?: number): void;
}

export interface Metric<Series> {
  /** Returns the series with these label values, in the order of the labels; created on first use. */
  with(...values: readonly string[]): Series;
  /** Removes every series. */
  clear(): void;
}

export interface MetricsRegistry {
  counter(options: MetricOptions): Metric<CounterSeries>;
  gauge(options: MetricOptions): Metric<GaugeSeries>;
  histogram(options: HistogramOptions): Metric<HistogramSeries>;
  /** Called before every exposition, to set values that are measured on demand. */
  onCollect(collect: () => void): void;
  /** Returns all metrics in the order of creation. */
  text(): string;
}

class NumberSeries implements CounterSeries, GaugeSeries {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }

  add(by: number): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }
}

class BucketSeries implements HistogramSeries {
  readonly #bounds: readonly number[];
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number, times = 1): void {
    this.count += times;
    this.sum += value * times;
    for (let index = 0; index < this.#bounds.length; index += 1) {
      if (value <= (this.#bounds[index] ?? 0)) {
        this.counts[index] = (this.counts[index] ?? 0) + times;
        return;
      }
    }
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };
const escapeLabel = (text: string): string => text.replaceAll(/[\\"\n]/g, (found) => ESCAPES[found] ?? found);
const escapeHelp = (text: string): string => text.replaceAll(/[\\\n]/g, (found) => ESCAPES[found] ?? found);

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

function formatLabels(names: readonly string[], values: readonly string[], extra = ''): string {
  const pairs = names.map((name, index) => `${name}="${escapeLabel(values[index] ?? '')}"`);
  if (extra !== '') pairs.push(extra);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

interface Entry<Series> {
  readonly values: readonly string[];
  readonly series: Series;
}

interface Family<Series> extends Metric<Series> {
  readonly entries: ReadonlyMap<string, Entry<Series>>;
}

function createFamily<Series>(options: MetricOptions, make: () => Series): Family<Series> {
  const entries = new Map<string, Entry<Series>>();
  const maxSeries = options.maxSeries ?? DEFAULT_MAX_SERIES;
  // Replaces series beyond the limit; updated like any other, but never shown.
  const surplus = make();
  return {
    entries,
    with(...values) {
      const key = values.length === 1 ? (values[0] ?? '') : values.join('\u0000');
      const known = entries.get(key);
      if (known !== undefined) return known.series;
      if (entries.size >= maxSeries) return surplus;
      const series = make();
      entries.set(key, { values, series });
      return series;
    },
    clear: () => entries.clear(),
  };
}

function formatFamily<Series>(
  options: MetricOptions,
  type: string,
  family: Family<Series>,
  lines: (labels: readonly string[], entry: Entry<Series>) => readonly string[],
): string {
  const head = [`# HELP ${options.name} ${escapeHelp(options.help)}`, `# TYPE ${options.name} ${type}`];
  const names = options.labels ?? [];
  const body = [...family.entries.values()].flatMap((entry) => lines(names, entry));
  return body.length === 0 ? '' : `${[...head, ...body].join('\n')}\n`;
}

function histogramLines(
  options: HistogramOptions,
): (names: readonly string[], entry: Entry<BucketSeries>) => readonly string[] {
  return (names, { values, series }) => {
    let total = 0;
    const buckets = options.buckets.map((bound, index) => {
      total += series.counts[index] ?? 0;
      return `${options.name}_bucket${formatLabels(names, values, `le="${formatNumber(bound)}"`)} ${total}`;
    });
    const labels = formatLabels(names, values);
    return [
      ...buckets,
      `${options.name}_bucket${formatLabels(names, values, 'le="+Inf"')} ${series.count}`,
      `${options.name}_sum${labels} ${formatNumber(series.sum)}`,
      `${options.name}_count${labels} ${series.count}`,
    ];
  };
}

/** Creates an independent registry. */
export function createMetricsRegistry(): MetricsRegistry {
  const formats: (() => string)[] = [];
  const collectors: (() => void)[] = [];

  function plain(options: MetricOptions, type: string): Family<NumberSeries> {
    const family = createFamily(options, () => new NumberSeries());
    formats.push(() =>
      formatFamily(options, type, family, (names, { values, series }) => [
        `${options.name}${formatLabels(names, values)} ${formatNumber(series.value)}`,
      ]),
    );
    return family;
  }

  return {
    counter: (options) => plain(options, 'counter'),
    gauge: (options) => plain(options, 'gauge'),
    histogram(options) {
      const family = createFamily(options, () => new BucketSeries(options.buckets));
      const lines = histogramLines(options);
      formats.push(() => formatFamily(options, 'histogram', family, lines));
      return family;
    },
    onCollect: (collect) => void collectors.push(collect),
    text() {
      for (const collect of collectors) collect();
      return formats.map((format) => format()).join('');
    },
  };
}
