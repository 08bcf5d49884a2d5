/** downwardAPI: what a pod may know of itself, as files. Spec: document 3, 2.3. */
import { DEFAULT_MODE } from '../payload.ts';
import { downwardContent, setUpContent } from './content.ts';
import { defineSource, type SourcePlugin } from './source.ts';

export const downwardAPI: SourcePlugin = defineSource(
  'downwardAPI',
  { summary: 'Facts of the pod itself as files.', use: 'pod' },
  async (spec, request) => {
    const content = downwardContent(request, spec.items ?? [], spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'downward-api', memory: true }, content);
  },
);
