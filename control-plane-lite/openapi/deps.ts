/** Dependencies of the OpenAPI documents. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { OtherDocuments } from './others.ts';
export interface OpenApiDeps {
  readonly vocabulary: Vocabulary;
  readonly registry: Pick<ResourceRegistry, 'all' | 'generation'>;
  /** Name and version of the program. Part of the hash, so that clients refetch the documents of another version. */
  readonly product: string;
  /** Documents of aggregated servers. */
  readonly others?: OtherDocuments;
}
