/** Creates the pod sources of a configuration. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import { createFileSource } from './files/file.ts';
import type { PodSource, ReadManifests } from './types.ts';
import { createUrlSource } from './url/url.ts';
import { createFetchUrl } from './url/url-fetch.ts';

export interface SourcesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports missing paths as waits. */
  readonly waits?: Pick<Waits, 'begin'>;
  /** Value of the User-Agent header, such as `nodeagent/0.1.0`. */
  readonly userAgent: string;
}

/** Settings of the sources; durations in ms. */
export interface SourcesOptions {
  readonly staticPodPath: string;
  readonly fileCheckFrequency: number;
  readonly staticPodURL: string;
  readonly staticPodURLHeader: Readonly<Record<string, readonly string[]>>;
  readonly httpCheckFrequency: number;
}

/** Creates the file and URL sources, each if configured. */
export function createSources(
  deps: SourcesDeps,
  readManifests: ReadManifests,
  options: SourcesOptions,
): readonly PodSource[] {
  const { clock, log, userAgent } = deps;
  const waits = deps.waits === undefined ? {} : { waits: deps.waits };
  const sources: PodSource[] = [];
  if (options.staticPodPath !== '') {
    const { staticPodPath: path, fileCheckFrequency: checkMs } = options;
    sources.push(createFileSource({ clock, log, ...waits, readManifests }, { path, checkMs }));
  }
  if (options.staticPodURL !== '') {
    const fetchUrl = createFetchUrl({ clock, userAgent });
    const { staticPodURL: url, staticPodURLHeader: headers, httpCheckFrequency: checkMs } = options;
    sources.push(createUrlSource({ clock, log, readManifests, fetchUrl }, { url, headers, checkMs }));
  }
  return sources;
}
