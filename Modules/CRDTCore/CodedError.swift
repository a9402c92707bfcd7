/// An error with a code on which callers branch, and a message for people.
///
/// The errors of all layers conform to it, so that one function turns any of them into the public one.
package protocol CodedError: Error {
  /// The kinds of the error; an enum, or a struct where outsiders may switch on it.
  associatedtype Code: RawRepresentable<String> & Hashable & Sendable

  /// The kind of the error.
  var code: Code { get }
  /// One sentence, in English, without a trailing full stop; never a document's contents.
  var message: String { get }
  /// Where the error happened, by name, as the public error has it; empty if nothing is known.
  var context: [String: String] { get }  // text: the names are literals of this package.
}

extension CodedError {
  // text: the names are literals of this package.
  package var context: [String: String] { [:] }
}
