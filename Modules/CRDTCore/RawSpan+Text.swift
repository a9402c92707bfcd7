// `String(validating:as:)` is generic and not specialized: on the short strings of documents it costs several times
// as much as `UTF8Span`.
extension RawSpan {
  /// These bytes as text; `nil` when they are not UTF-8.
  package var text: String? {
    do { return String(copying: try UTF8Span(validating: Span<UInt8>(_bytes: self))) } catch { return nil }
  }

  /// Whether these bytes are UTF-8.
  package var isUTF8: Bool {
    do {
      _ = try UTF8Span(validating: Span<UInt8>(_bytes: self))
      return true
    } catch {
      return false
    }
  }
}
