// Compiled for `Tools/lint/text` alone. These stand in front of the standard library's own for all modules that import
// this one, so that the compiler names each line that compares text by canonical equivalence.
#if TEXT_LINT
  extension String {
    @available(*, deprecated, message: "text is compared by its bytes")
    package static func == (a: String, b: String) -> Bool { a.isSame(as: b) }
    @available(*, deprecated, message: "text is compared by its bytes")
    package static func != (a: String, b: String) -> Bool { !a.isSame(as: b) }
    @available(*, deprecated, message: "text is compared by its bytes")
    package func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
    @available(*, deprecated, message: "text is compared by its bytes")
    package func hasSuffix(_ suffix: String) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }
  }

  extension Optional where Wrapped == String {
    @available(*, deprecated, message: "text is compared by its bytes")
    package static func == (a: String?, b: String?) -> Bool { a.map { TextKey($0) } == b.map { TextKey($0) } }
    @available(*, deprecated, message: "text is compared by its bytes")
    package static func != (a: String?, b: String?) -> Bool { a.map { TextKey($0) } != b.map { TextKey($0) } }
    package static func == (a: String?, b: _OptionalNilComparisonType) -> Bool {
      a.map { _ in false } ?? true
    }
    package static func != (a: String?, b: _OptionalNilComparisonType) -> Bool {
      a.map { _ in true } ?? false
    }
  }

  extension Array where Element == String {
    @available(*, deprecated, message: "text is compared by its bytes")
    package static func == (a: [String], b: [String]) -> Bool {
      a.map { TextKey($0) } == b.map { TextKey($0) }
    }
    @available(*, deprecated, message: "text is compared by its bytes")
    package func contains(_ text: String) -> Bool { contains { $0.isSame(as: text) } }
    @available(*, deprecated, message: "text is compared by its bytes")
    package func firstIndex(of text: String) -> Int? { firstIndex { $0.isSame(as: text) } }
  }

  @available(*, deprecated, message: "text is compared by its bytes")
  package func ~= (pattern: String, text: String) -> Bool { pattern.isSame(as: text) }
#endif
