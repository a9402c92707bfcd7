// A module that only `Tools/lint/text` compiles. It makes all the modules that it examines import this one.
// The declarations here take precedence over those of the standard library, so the compiler names each line
// that compares text by canonical equivalence.
extension String {
  @available(*, deprecated, message: "text is compared by its bytes")
  public static func == (a: String, b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
  @available(*, deprecated, message: "text is compared by its bytes")
  public static func != (a: String, b: String) -> Bool { !a.utf8.elementsEqual(b.utf8) }
  @available(*, deprecated, message: "text is compared by its bytes")
  public func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
  @available(*, deprecated, message: "text is compared by its bytes")
  public func hasSuffix(_ suffix: String) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }
}

extension Optional where Wrapped == String {
  @available(*, deprecated, message: "text is compared by its bytes")
  public static func == (a: String?, b: String?) -> Bool {
    a.map { [UInt8]($0.utf8) } == b.map { [UInt8]($0.utf8) }
  }
  @available(*, deprecated, message: "text is compared by its bytes")
  public static func != (a: String?, b: String?) -> Bool {
    a.map { [UInt8]($0.utf8) } != b.map { [UInt8]($0.utf8) }
  }
  public static func == (a: String?, b: _OptionalNilComparisonType) -> Bool {
    a.map { _ in false } ?? true
  }
  public static func != (a: String?, b: _OptionalNilComparisonType) -> Bool {
    a.map { _ in true } ?? false
  }
}

extension Array where Element == String {
  @available(*, deprecated, message: "text is compared by its bytes")
  public static func == (a: [String], b: [String]) -> Bool {
    a.map { [UInt8]($0.utf8) } == b.map { [UInt8]($0.utf8) }
  }
  @available(*, deprecated, message: "text is compared by its bytes")
  public func contains(_ text: String) -> Bool { contains { $0.utf8.elementsEqual(text.utf8) } }
  @available(*, deprecated, message: "text is compared by its bytes")
  public func firstIndex(of text: String) -> Int? { firstIndex { $0.utf8.elementsEqual(text.utf8) } }
}

@available(*, deprecated, message: "text is compared by its bytes")
public func ~= (pattern: String, text: String) -> Bool { pattern.utf8.elementsEqual(text.utf8) }
