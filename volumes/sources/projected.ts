/** projected: several sources of content in one volume. Source: volume sources, document 3 §2.3. */
import type { VolumeProjection } from '#api/gen/core-v1.ts';
import { defineSource, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { DEFAULT_MODE } from '../files/payload.ts';
import {
  type Content,
  configMapContent,
  downwardContent,
  mergeContents,
  secretContent,
  setUpContent,
  tokenContent,
} from './content.ts';

async function contentOf(request: SourceRequest, source: VolumeProjection, mode: number): Promise<Content> {
  if (source.configMap !== undefined) return configMapContent(request, source.configMap, mode);
  if (source.secret !== undefined) {
    const { name, ...rest } = source.secret;
    return secretContent(request, name === undefined ? rest : { ...rest, secretName: name }, mode);
  }
  if (source.downwardAPI !== undefined) return downwardContent(request, source.downwardAPI.items ?? [], mode);
  if (source.serviceAccountToken !== undefined)
    return tokenContent(request, source.serviceAccountToken, mode);
  throw new VolumeSetupError('a projected source is empty');
}

export const projected: SourcePlugin = defineSource(
  'projected',
  { summary: 'Several sources, and service account tokens, in one directory.', use: 'pod' },
  async (spec, request) => {
    const mode = spec.defaultMode ?? DEFAULT_MODE;
    const contents: Content[] = [];
    for (const source of spec.sources ?? []) contents.push(await contentOf(request, source, mode));
    return setUpContent(request, { dirName: 'projected', memory: true }, mergeContents(contents));
  },
);
