package import DocStore

extension IndexDefinition {
  /// The keys as in CREATE INDEX, for example `km DESC`.
  package var keyTexts: [String] {
    fields.map { CreateIndex.Key($0.term, descending: $0.isDescending).text }
  }
}
