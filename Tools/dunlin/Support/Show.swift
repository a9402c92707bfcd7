import Foundation

/// Prints at once, so that a reader behind a pipe follows the story too.
func show(_ text: String) {
  print(text)
  fflush(nil)
}
