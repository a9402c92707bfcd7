package import CRDTCore

extension VersionVector {
  /// Returns whether everything that `other` includes is included here, superseded writers aside.
  ///
  /// A vector need not list a writer that a newer one of its site has superseded, so the peer's may list one that this does
  /// not. Where it matters whether such a writer's writes were seen, the summaries tell.
  ///
  /// - Complexity: O(*n* log *m*) in the elements, and O(*n* *m*) for those that are not listed here.
  package func reaches(_ other: VersionVector) -> Bool {
    other.elements.allSatisfy { element in
      let known = self[element.writer]
      return known >= element.reading || known == .zero && hasSuperseded(element.writer)
    }
  }

  private func hasSuperseded(_ writer: Writer) -> Bool {
    elements.contains { $0.writer.site == writer.site && $0.writer.birth > writer.birth }
  }
}
