"""What `streamlit run` executes, in a folder of its own: a folder `pages` beside it would be taken for its pages."""
