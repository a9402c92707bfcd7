/// Something the user of a command must know: what, and where.
struct ToolError: Error, CustomStringConvertible {
  let description: String
  /// Whether standard output cannot be written to any more, so that there is no sense in going on.
  let isAboutOutput: Bool

  init(_ description: String, isAboutOutput: Bool = false) {
    (self.description, self.isAboutOutput) = (description, isAboutOutput)
  }
}
