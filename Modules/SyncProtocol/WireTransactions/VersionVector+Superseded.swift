package import CRDTCore

extension VersionVector {
  /// Returns whether this vector includes everything that `other` includes, except superseded writers.
  ///
  /// A vector need not list a writer that a newer writer of its site has superseded. So the peer's vector may
  /// list one that this vector does not. Where it matters whether such a writer's writes were seen, the
  /// summaries show it.
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
